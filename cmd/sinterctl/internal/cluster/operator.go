package cluster

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// ContainerOperator is the operator's component, and the name of its container.
const ContainerOperator = "operator"

// Operator finds the operator's Deployment in all namespaces; nil: there is none. The chart's label of the name may be another than "sinter", and
// kustomize has no label of the part.
func (c *Cluster) Operator(ctx context.Context) (*appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := c.Client.List(ctx, &list, client.MatchingLabels{v1alpha1.LabelComponent: ContainerOperator}); err != nil {
		return nil, err
	}
	for k := range list.Items {
		if d := &list.Items[k]; d.Labels["app.kubernetes.io/part-of"] == "sinter" || d.Labels["app.kubernetes.io/name"] == "sinter" {
			return d, nil
		}
	}
	return nil, nil
}
