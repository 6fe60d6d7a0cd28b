// Package caching says what of the cluster the operator keeps in memory.
package caching

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Options keep of each object what the controllers read: programs without their bytes, of the cluster's pods what they ask of their
// nodes, and of endpoints where they are and whether they serve. Instances are as old as the API server says: a node's clock may be wrong.
func Options() cache.Options {
	ours := labels.SelectorFromSet(labels.Set{v1alpha1.LabelComponent: v1alpha1.ComponentDataPlane})
	return cache.Options{
		DefaultTransform: trimmed(func(any) {}),
		ByObject: map[client.Object]cache.ByObject{
			// Every namespace is full of these: only the operator's own.
			&corev1.ServiceAccount{}:        {Label: ours},
			&rbacv1.Role{}:                  {Label: ours},
			&rbacv1.RoleBinding{}:           {Label: ours},
			&policyv1.PodDisruptionBudget{}: {Label: ours},
			&networkingv1.NetworkPolicy{}:   {Label: ours},
			&v1alpha1.ChainInstance{}: {Transform: trimmed(func(o any) {
				if i, ok := o.(*v1alpha1.ChainInstance); ok {
					dateReport(i)
				}
			})},
			&v1alpha1.ChainProgram{}: {Transform: trimmed(func(o any) {
				if p, ok := o.(*v1alpha1.ChainProgram); ok {
					p.Spec.Program = nil
				}
			})},
			&corev1.Pod{}: {Transform: trimmed(func(o any) {
				if p, ok := o.(*corev1.Pod); ok {
					trimPod(p)
				}
			})},
			&discoveryv1.EndpointSlice{}: {Transform: trimmed(func(o any) {
				if s, ok := o.(*discoveryv1.EndpointSlice); ok {
					trimEndpoints(s)
				}
			})},
			&corev1.Node{}: {Transform: trimmed(func(o any) {
				if n, ok := o.(*corev1.Node); ok {
					n.Status.Images = nil
				}
			})},
		},
	}
}

// dateReport gives the agent's last report the time at which the API server got it. The agent's own word is by its node's clock.
func dateReport(i *v1alpha1.ChainInstance) {
	for _, m := range i.ManagedFields {
		if m.Time != nil && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:lastReportTime"`) {
			i.Status.LastReportTime = *m.Time
		}
	}
}

func trimEndpoints(s *discoveryv1.EndpointSlice) {
	for i, e := range s.Endpoints {
		s.Endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions}
	}
}

func trimPod(p *corev1.Pod) {
	p.Spec.Volumes = nil
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			list[i] = corev1.Container{Name: list[i].Name, Resources: list[i].Resources, RestartPolicy: list[i].RestartPolicy}
		}
	}
}

// trimmed also takes away who wrote what, which nobody else reads.
func trimmed(trim func(any)) toolscache.TransformFunc {
	return func(o any) (any, error) {
		trim(o)
		if m, err := meta.Accessor(o); err == nil {
			m.SetManagedFields(nil)
		}
		return o, nil
	}
}
