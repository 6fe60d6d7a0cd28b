package desired

import (
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// ethernetMTU is what every device carries without being told.
const ethernetMTU = 1500

// Bind says what the interfaces of a program are within a pod that has these functions beside its engine, or why that is not known.
func Bind(c *v1alpha1.ServiceChain, p *v1alpha1.ChainProgram, functions []v1alpha1.InstanceFunction) (out []v1alpha1.InterfaceBinding, unbound string) {
	byName, without := map[v1alpha1.Name]v1alpha1.InterfaceBinding{}, map[v1alpha1.Name]string{}
	networks, wires := 0, 0
	for i := range c.Spec.Interfaces {
		n := &c.Spec.Interfaces[i]
		b := v1alpha1.InterfaceBinding{
			Name: n.Name, Driver: n.Driver, Device: n.Device,
			ResourceName: n.ResourceName, ResourceClaimTemplateName: n.ResourceClaimTemplateName,
		}
		if n.MTU > ethernetMTU {
			b.MTU = n.MTU
		}
		device := n.ResourceName != "" || n.ResourceClaimTemplateName != ""
		if b.Driver == "" {
			b.Driver = v1alpha1.DriverAFPacket
			if device {
				b.Driver = v1alpha1.DriverVFIO
			}
		}
		if n.NetworkRef != nil {
			namespace := n.NetworkRef.Namespace
			if namespace == "" {
				namespace = c.Namespace
			}
			networks++ // Multus attaches them in this order
			b.Network, b.Device = namespace+"/"+n.NetworkRef.Name, fmt.Sprintf("net%d", networks)
		}
		within := slices.IndexFunc(functions, func(f v1alpha1.InstanceFunction) bool { return slices.Contains(f.Wires(), n.Name) })
		switch {
		case within >= 0 && functions[within].Transport == v1alpha1.BlackboxMemif:
			b.Driver, b.Device = v1alpha1.DriverMemif, v1alpha1.MemifSocket(n.Name)
		case within >= 0:
			wires++
			b.Device = fmt.Sprintf("wire%d", wires)
		case n.NetworkRef == nil && !device && n.Device == "":
			hint := ""
			if n.Wire {
				hint = ", or give its blackbox an image"
			}
			without[n.Name] = fmt.Sprintf("spec.interfaces[%d] (%s): set networkRef, resourceName or resourceClaimTemplateName to attach the pod%s", i, n.Name, hint)
		}
		byName[n.Name] = b
	}
	for _, name := range p.Spec.Interfaces {
		b, ok := byName[name]
		if !ok {
			return nil, fmt.Sprintf("program %s has the interface %q, which is no longer in spec.interfaces", p.Name, name)
		}
		if without[name] != "" {
			return nil, without[name]
		}
		out = append(out, b)
	}
	return out, ""
}
