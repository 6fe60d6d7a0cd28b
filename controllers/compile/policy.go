package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Policy is what the administrator of the cluster lets chains do.
type Policy struct {
	// Devices lets interfaces name their device. Who names a DPDK device string may open raw sockets on the pod's network, and files.
	Devices bool
	// Images are those that blackboxes may name: each one, a registry or a folder of it that ends in a slash ("registry.example/nfv/"), or "*" for all. Who
	// may have the chain run an image has it in a pod, on the pod's network, although they may not create pods.
	Images []string
	// MaxRules and MaxRoutes are how many lines the texts of rules and of routes have that a chain takes from ConfigMaps; 0: any number.
	MaxRules, MaxRoutes int
}

// check finds what the policy forbids.
func (p Policy) check(c *v1alpha1.ServiceChain, functions []*v1alpha1.NetworkFunction) finding.List {
	found := p.checkDevices(c)
	chain := finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}
	for i := range c.Spec.Functions {
		found = append(found, p.checkImage(chain, fmt.Sprintf("spec.functions[%d]", i), &c.Spec.Functions[i].FunctionKinds)...)
	}
	for _, f := range Used(c, functions) {
		o := finding.Object{Kind: v1alpha1.KindNetworkFunction, Namespace: f.Namespace, Name: f.Name}
		found = append(found, p.checkImage(o, "spec", &f.Spec.FunctionKinds)...)
	}
	return found
}

func (p Policy) checkImage(o finding.Object, path string, f *v1alpha1.FunctionKinds) finding.List {
	if f.Blackbox == nil || f.Blackbox.Image == "" || p.Allows(f.Blackbox.Image) {
		return nil
	}
	names := "none"
	if len(p.Images) > 0 {
		names = strings.Join(p.Images, ", ")
	}
	return finding.List{{
		Object: o, Field: path + ".blackbox.image", Value: f.Blackbox.Image,
		Message: "chains of this cluster may not run this image. Those that they may: " + names + ". Have the administrator allow it (operator.allowImages of the chart), " +
			"or run the function yourself: leave image out, and give its wires a networkRef",
	}}
}

// Allows tells whether a blackbox may name an image. A name without tag or digest allows each of them.
func (p Policy) Allows(image string) bool {
	return slices.ContainsFunc(p.Images, func(allowed string) bool {
		rest, begins := strings.CutPrefix(image, allowed)
		switch {
		case allowed == "*":
			return true
		case !begins:
			return false
		case rest == "" || strings.HasSuffix(allowed, "/"):
			return true
		}
		return (rest[0] == ':' || rest[0] == '@') && !strings.Contains(rest, "/") // a port and a name are no tag
	})
}

// checkDevices finds devices that the policy forbids. A device beside a network is no more than what sinterctl binds the interface to.
func (p Policy) checkDevices(c *v1alpha1.ServiceChain) (found finding.List) {
	for i := range c.Spec.Interfaces {
		n := &c.Spec.Interfaces[i]
		if n.Device == "" || n.NetworkRef != nil || p.Devices {
			continue
		}
		found = append(found, finding.Finding{
			Object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name},
			Field:  fmt.Sprintf("spec.interfaces[%d].device", i), Value: n.Device,
			Message: "chains of this cluster do not name devices: leave it out, and set networkRef, resourceName or resourceClaimTemplateName; " +
				"or have the administrator allow it (operator.allowDevices of the chart)",
		})
	}
	return found
}
