package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/dataplane/graph"
)

// Binds finds a device for each of the chain's interfaces: the one given by name, else the chain's.
func Binds(chain *compile.Chain, given map[string]string) ([]engine.Bind, error) {
	var out []engine.Bind
	var names []string
	bound := map[string]string{}
	for _, n := range chain.Graph.Interfaces {
		device := n.Device
		if d, ok := given[n.Name]; ok {
			device = d
		}
		if device == "" {
			return nil, fmt.Errorf("interface %s has no device: bind it with --bind %s=<device>, or set its device in spec.interfaces",
				n.Name, n.Name)
		}
		if other, ok := bound[graph.DeviceName(device)]; ok {
			return nil, fmt.Errorf("interface %s: device %q is bound to interface %s already; give each interface one of its own", n.Name, device, other)
		}
		bound[graph.DeviceName(device)] = n.Name
		out = append(out, engine.Bind{Interface: n.Name, Device: device})
		names = append(names, n.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--bind %s=%s: chain %s has no interface %q, only %s",
				name, given[name], chain.Graph.Chain, name, strings.Join(names, ", "))
		}
	}
	return out, nil
}
