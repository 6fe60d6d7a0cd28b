package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/cause"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// toInstall and toUpgrade are how docs/install.md does it.
const (
	toInstall = "helm install sinter charts/sinter --namespace sinter-system --create-namespace --wait (docs/install.md)"
	toUpgrade = "helm upgrade sinter charts/sinter --namespace sinter-system --reset-then-reuse-values --wait (docs/install.md)"
)

var kinds = []string{v1alpha1.KindServiceChain, v1alpha1.KindNetworkFunction, v1alpha1.KindChainProgram, v1alpha1.KindChainInstance}

// served are the kinds of Sinter that the API server serves, in any version. It serves those alone whose definitions are established.
func (i *inspection) served() (list []string, err error) {
	for _, kind := range kinds {
		has, err := i.hasKind(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind})
		if err != nil {
			return nil, err
		}
		if has {
			list = append(list, kind)
		}
	}
	return list, nil
}

// checkInstallation tells whether Sinter is installed, and whole.
func (i *inspection) checkInstallation(ctx context.Context, served []string) {
	operator, err := i.Operator(ctx)
	i.Installed = i.Installed || operator != nil
	if !i.Installed {
		i.add(OK, "Kinds", "Sinter is not installed", toInstall)
		return
	}
	i.kinds(served)
	switch {
	case err != nil:
		i.unknown("Operator", "list deployments in all namespaces", err)
	case operator != nil:
		i.operator(ctx, operator)
	case len(i.chains) > 0:
		i.add(Error, "Operator", "no operator is installed: chains go on as they are, and do not follow changes", toInstall)
	default:
		i.add(Warning, "Operator", "no operator is installed, only the kinds are", toInstall)
	}
	i.webhook(ctx)
}

// kinds tells whether all kinds are served as this command knows them.
func (i *inspection) kinds(served []string) {
	const check = "Kinds"
	var missing []string
	for _, kind := range kinds {
		has, err := i.hasKind(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: kind}, v1alpha1.GroupVersion.Version)
		switch {
		case err != nil:
			i.unknown(check, "ask which kinds there are", err)
			return
		case !has && slices.Contains(served, kind):
			missing = append(missing, kind+" (served in another version)")
		case !has:
			missing = append(missing, kind)
		}
	}
	if len(missing) > 0 {
		i.add(Error, check, fmt.Sprintf("the API server does not serve %s of %s", names(missing), v1alpha1.GroupVersion),
			"kubectl get crd -o wide | grep "+v1alpha1.GroupVersion.Group+", and "+toUpgrade)
		return
	}
	i.ok(check, "the API server serves the %d kinds of %s", len(kinds), v1alpha1.GroupVersion)
}

// operator tells whether the operator runs, and if not why.
func (i *inspection) operator(ctx context.Context, d *appsv1.Deployment) {
	const check = "Operator"
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	has := d.Status.AvailableReplicas
	name := fmt.Sprintf("the operator %s/%s", d.Namespace, d.Name)
	if has >= wanted && wanted > 0 {
		i.ok(check, "%s runs, %d of %d available", name, has, wanted)
		return
	}
	why := i.broken(ctx, d)
	if wanted == 0 {
		why = "it is scaled to no replica"
	}
	result := Error
	if has > 0 {
		result = Warning
	}
	i.add(result, check, fmt.Sprintf("%s has %d of %d available: %s", name, has, wanted, why), operatorRemedy(d, why))
}

// broken is why the operator's pods do not run.
func (i *inspection) broken(ctx context.Context, d *appsv1.Deployment) string {
	var pods corev1.PodList
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err == nil {
		err = i.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector})
	}
	if err != nil {
		return fmt.Sprintf("why is not known, as its pods cannot be read: %v", err)
	}
	for k := range pods.Items {
		p := &pods.Items[k]
		if why := cause.Of(p, cluster.ContainerOperator); why != "" {
			return fmt.Sprintf("pod %s: %s%s", p.Name, why, i.lastWords(ctx, p, why))
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf("pod %s is not scheduled: %s", p.Name, c.Message)
			}
		}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return "its pods are not ready"
}

// lastWords is what the operator said before it ended, behind a colon; empty: the cause has it already, or it did not end.
func (i *inspection) lastWords(ctx context.Context, p *corev1.Pod, why string) string {
	if !strings.Contains(why, " ended ") || strings.Contains(why, ": ") {
		return ""
	}
	text, err := i.Pods.Log(ctx, client.ObjectKeyFromObject(p), cluster.ContainerOperator, true)
	if err != nil {
		return ""
	}
	var log strings.Builder
	for line := range strings.Lines(string(text)) {
		_, says, _ := strings.Cut(line, " ") // behind the time
		log.WriteString(says)
	}
	if last := cause.LastWords(log.String()); last != "" {
		return ": " + last
	}
	return ""
}

// operatorRemedy is what to do about an operator that does not run.
func operatorRemedy(d *appsv1.Deployment, why string) string {
	logs := fmt.Sprintf("kubectl --namespace %s logs deployment/%s --previous", d.Namespace, d.Name)
	switch {
	case strings.Contains(why, "cannot be pulled"):
		return "give the chart the registry and tag that have the images (image.registry, image.tag, imagePullSecrets): helm upgrade sinter charts/sinter --namespace " + d.Namespace + " --reset-then-reuse-values --set …"
	case strings.Contains(why, "more memory than its limit"):
		return "raise operator.resources.limits.memory of the chart"
	case strings.Contains(why, " ended "):
		return logs
	}
	return cmp.Or(map[string]string{
		"it is scaled to no replica": fmt.Sprintf("kubectl --namespace %s scale deployment/%s --replicas=1", d.Namespace, d.Name),
	}[why], fmt.Sprintf("kubectl --namespace %s describe pods, and %s", d.Namespace, strings.TrimSuffix(logs, " --previous")))
}
