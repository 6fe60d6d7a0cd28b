package desired

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestAPolicyLetsInMetricsAndPodsOfTheSameChain(t *testing.T) {
	chain := func(change func(*v1alpha1.ServiceChainSpec)) *v1alpha1.ServiceChain {
		c := &v1alpha1.ServiceChain{}
		c.Namespace, c.Name = "lab", "edge"
		c.Spec.Interfaces = []v1alpha1.Interface{{Name: "in", NetworkRef: &v1alpha1.NetworkRef{Name: "lan"}, Device: "eth1"}, {Name: "out", ResourceName: "intel.com/vf"}}
		change(&c.Spec)
		return c
	}
	as := func(*v1alpha1.ServiceChainSpec) {}
	sharing := func(spec *v1alpha1.ServiceChainSpec) { spec.Scaling.Instances, spec.Scaling.MaxInstances = 1, 2 }
	const pods = "{matchLabels: {nfv.sinter.dev/chain: edge, app.kubernetes.io/component: dataplane}}"
	const metrics = "ports: [{protocol: TCP, port: 9090}]"
	const peers = "{ports: [{protocol: TCP, port: 9443}], from: [{podSelector: " + pods + "}]}"
	monitoring := []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}}
	for name, tt := range map[string]struct {
		chain     *v1alpha1.ServiceChain
		instances []v1alpha1.ChainInstance
		isolation Isolation
		ingress   string // empty: there is no policy
	}{
		"metrics of all":                        {chain(as), nil, Isolation{On: true}, "[{" + metrics + "}]"},
		"metrics of some":                       {chain(as), nil, Isolation{On: true, MetricsFrom: monitoring}, "[{" + metrics + ", from: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"},
		"state is shared":                       {chain(sharing), nil, Isolation{On: true}, "[{" + metrics + "}, " + peers + "]"},
		"an instance still shares its state":    {chain(as), []v1alpha1.ChainInstance{{}, {Spec: v1alpha1.ChainInstanceSpec{Shared: true}}}, Isolation{On: true}, "[{" + metrics + "}, " + peers + "]"},
		"the administrator wants none":          {chain(as), nil, Isolation{}, ""},
		"the chain takes a device of the pod's": {chain(func(s *v1alpha1.ServiceChainSpec) { s.Interfaces[1] = v1alpha1.Interface{Name: "out", Device: "eth0"} }), nil, Isolation{On: true}, ""},
	} {
		var want *networkingv1.NetworkPolicySpec
		if tt.ingress != "" {
			text := "{podSelector: " + pods + ", policyTypes: [Ingress], ingress: " + tt.ingress + "}"
			if err := yaml.UnmarshalStrict([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
		}
		if got := tt.isolation.Policy(tt.chain, tt.instances); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}
