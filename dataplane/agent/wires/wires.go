// Package wires makes the network devices between an engine and a function that runs in a container of the same pod: a veth pair for each wire. Both
// ends are in the network namespace of the pod, so that nothing of the node is touched.
package wires

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/dataplane/binding"
)

// Make makes the wires that are not there yet, and sets all up. It needs CAP_NET_ADMIN.
func Make(list []binding.Wire) error {
	for _, w := range list {
		if err := makePair(w); err != nil {
			return fmt.Errorf("wire %s: %w", w, err)
		}
	}
	return nil
}

func makePair(w binding.Wire) error {
	for _, mine := range []struct{ name, peer string }{{w.Engine, w.Function}, {w.Function, w.Engine}} {
		if err := vacant(mine.name, mine.peer); err != nil {
			return err
		}
	}
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: w.Engine}, PeerName: w.Function}
	if err := netlink.LinkAdd(pair); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make the pair: %w", err)
	}
	for _, name := range []string{w.Engine, w.Function} {
		end, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		// The kernel sends nothing of its own: no solicitations of routers, no reports of groups.
		if err := netlink.LinkSetIP6AddrGenMode(end, nl.IN6_ADDR_GEN_MODE_NONE); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("device %s: keep it from getting an IPv6 address: %w", name, err)
		}
		if err := errors.Join(netlink.LinkSetMTU(end, w.MTU), netlink.LinkSetUp(end)); err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
	}
	return nil
}

// vacant refuses a name that another device has than the one end of the wire.
func vacant(name, peer string) error {
	has, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return err
	}
	if veth, ok := has.(*netlink.Veth); ok {
		index, err := netlink.VethPeerIndex(veth)
		if err != nil {
			return fmt.Errorf("device %s: its peer: %w", name, err)
		}
		if other, err := netlink.LinkByIndex(index); err == nil && other.Attrs().Name == peer {
			return nil
		}
	}
	return fmt.Errorf("the pod has another device %s (%s): give the wire another name", name, has.Type())
}
