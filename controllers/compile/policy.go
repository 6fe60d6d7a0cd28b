package compile

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Policy is what the administrator of the cluster lets chains do.
type Policy struct {
	// Devices lets interfaces name their device. Who names a DPDK device string may open raw sockets on the pod's network, and files.
	Devices bool
	// MaxRules and MaxRoutes are how many lines the texts of rules and of routes have that a chain takes from ConfigMaps; 0: any number.
	MaxRules, MaxRoutes int
}

// check finds what the policy forbids. A device beside a network is no more than what sinterctl binds the interface to.
func (p Policy) check(c *v1alpha1.ServiceChain) (found finding.List) {
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
