// Package binding decides what an engine is started with in a pod: the device of each chain
// interface, and the CPUs of its workers. It is pure: what the pod was granted is its input.
package binding

import (
	"fmt"
	"strings"
)

// Interface is a chain interface and what the pod's specification says of its device.
type Interface struct {
	Name     string // of the chain
	Network  string // NetworkAttachmentDefinition, "namespace/name"; the namespace may be left out
	Resource string // of the device plugin ("intel.com/sriov_vf")
	Claim    string // of dynamic resource allocation; without resource and claim: a plain CNI
	Driver   Driver // empty: VFIO with a resource or claim, else AFPacket
	Device   string // given outright: kernel interface, PCI address or EAL device; with Memif the path of a socket
}

// Driver is how the engine drives a device.
type Driver string

// Drivers. The first three have the names that they have in a chain, and Memif the one that it has in an instance.
const (
	AFPacket Driver = "AFPacket" // kernel interface by packet socket
	AFXDP    Driver = "AFXDP"    // kernel interface by AF_XDP
	VFIO     Driver = "VFIO"     // PCI device by DPDK itself
	Memif    Driver = "Memif"    // memory shared with a container of the pod
	EAL      Driver = "EAL"      // virtual device, given outright
)

// ParseInterface reads an interface as a flag gives it: "inside" alone, or with what is known of its device,
// "inside,network=default/lan,resource=intel.com/sriov_vf".
func ParseInterface(text string) (Interface, error) {
	name, rest, _ := strings.Cut(text, ",")
	i := Interface{Name: name}
	if name == "" || strings.Contains(name, "=") {
		return i, fmt.Errorf("interface %q: want its name first, as in inside,network=default/lan", text)
	}
	for rest != "" {
		key, value, _ := strings.Cut(rest, "=")
		if key == "device" { // takes the rest: EAL devices have commas
			i.Device, rest = value, ""
		} else {
			value, rest, _ = strings.Cut(value, ",")
		}
		switch key {
		case "device":
		case "network":
			i.Network = value
		case "resource":
			i.Resource = value
		case "claim":
			i.Claim = value
		case "driver":
			i.Driver = Driver(value)
			if i.Driver != AFPacket && i.Driver != AFXDP && i.Driver != VFIO && i.Driver != Memif {
				return i, fmt.Errorf("interface %s: driver %q: want %s, %s, %s or %s", name, value, AFPacket, AFXDP, VFIO, Memif)
			}
		default:
			return i, fmt.Errorf("interface %s: %q: want network, resource, claim, driver or device", name, key)
		}
		if value == "" {
			return i, fmt.Errorf("interface %s: %s is empty", name, key)
		}
	}
	return i, nil
}

// String is what ParseInterface reads.
func (i Interface) String() string {
	var b strings.Builder
	b.WriteString(i.Name)
	for _, f := range []struct{ key, value string }{
		{"network", i.Network},
		{"resource", i.Resource},
		{"claim", i.Claim},
		{"driver", string(i.Driver)},
		{"device", i.Device},
	} {
		if f.value != "" {
			b.WriteString("," + f.key + "=" + f.value)
		}
	}
	return b.String()
}
