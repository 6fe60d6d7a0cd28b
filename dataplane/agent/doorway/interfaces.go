package doorway

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// maxInterfaces bounds the interfaces of a program: a jump over them is 255 instructions long at most.
const maxInterfaces = 64

// Facing are the indexes of the interfaces that have some of the addresses, and of the loopback. A host that reaches another interface can send to these
// addresses there, as the kernel takes what is for any address of its own: a listener that is for the cluster alone lets in what comes by these. It
// fails if an address is of no interface.
func Facing(addresses []netip.Addr) ([]int, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	missing := slices.Clone(addresses)
	var facing []int
	for _, i := range all {
		own, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
		}
		found := i.Flags&net.FlagLoopback != 0
		for _, text := range own {
			prefix, err := netip.ParsePrefix(text.String())
			if err != nil || !slices.Contains(addresses, prefix.Addr()) {
				continue
			}
			found = true
			missing = slices.DeleteFunc(missing, func(a netip.Addr) bool { return a == prefix.Addr() })
		}
		if found {
			facing = append(facing, i.Index)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no interface has %s", missing)
	}
	if len(facing) > maxInterfaces {
		return nil, fmt.Errorf("%d interfaces have the addresses %s, want %d at most", len(facing), addresses, maxInterfaces)
	}
	return facing, nil
}
