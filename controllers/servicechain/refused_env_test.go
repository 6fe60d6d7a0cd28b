package servicechain_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Users of kubectl see nothing but the API server's words about an old value: it refuses before the webhook.
func TestTheAPIServerRefusesOldValuesAndListsTheNewOnes(t *testing.T) {
	w := newWorld(t)
	for element, wants := range map[string][]string{
		"{name: e, kind: dec-ttl}":                                         {`kind: Unsupported value: "dec-ttl": supported values: `, `"DecTTL"`},
		"{name: e, kind: SetField, setField: {field: dst, value: 1}}":      {`field: Unsupported value: "dst": supported values: `, `"Destination"`},
		"{name: e, kind: SetField, setField: {field: VLAN, value: none}}":  {`value: Invalid value: "none"`, `(None|`},
		"{name: e, kind: Filter, filter: {match: [{vlan: none}]}}":         {`vlan: Invalid value: "none"`, `|None)`},
		"{name: e, kind: set-field, setField: {field: VLAN, value: None}}": {`kind: Unsupported value: "set-field": supported values: `, `"SetField"`},
	} {
		o := document(t, "apiVersion: nfv.sinter.dev/v1alpha1\nkind: NetworkFunction\nmetadata: {name: own}\nspec:\n  elements:\n"+
			"    elements: ["+element+"]\n    links: [{from: inside, to: e}]\n")
		o.SetNamespace(w.namespace)
		err := w.client.Create(t.Context(), o)
		for _, want := range wants {
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the API server says %v; want it to say %s", element, err, want)
			}
		}
	}
}

// Kubernetes has dynamic resource allocation on since 1.34. An older API server removes claims from pods, and says nothing.
func TestAPodGetsItsClaimsOrTheChainSaysThatTheClusterHasNone(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(strings.NewReplacer(
		"networkRef: {name: lan}", "resourceClaimTemplateName: vf", "networkRef: {name: wan, namespace: networks}", "resourceClaimTemplateName: vf",
	).Replace(edge(443)))
	w.settle()
	claims := schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}
	if _, err := w.client.RESTMapper().RESTMapping(claims, "v1"); meta.IsNoMatchError(err) {
		w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonPodRefused, "Use Kubernetes 1.34 or later, where it is on, or set resourceName")
		w.told("Warning PodRefused")
		var pods corev1.PodList
		w.must(w.client.List(t.Context(), &pods, client.InNamespace(w.namespace)))
		if len(pods.Items) > 0 {
			t.Errorf("%d pods are made, whose engines have no devices; want none", len(pods.Items))
		}
		return
	} else if err != nil {
		t.Fatal(err)
	}
	w.says(v1alpha1.ConditionPlaced, no, v1alpha1.ReasonWaitingForPods, "")
	pod := w.pod("edge-0")
	if got := pod.Spec.ResourceClaims; len(got) != 2 || *got[0].ResourceClaimTemplateName != "vf" || len(pod.Spec.Containers[0].Resources.Claims) != 2 {
		t.Errorf("the pod's claims are %v, those of its engine %v; want two by the template vf", got, pod.Spec.Containers[0].Resources.Claims)
	}
}
