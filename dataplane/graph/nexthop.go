package graph

import (
	"fmt"
	"net/netip"
	"strings"
)

// addresses are a router's own.
func (f *function) addresses() []netip.Addr {
	var out []netip.Addr
	add := func(s string) {
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, a)
		}
	}
	r, ok := f.kind.(router)
	if !ok {
		return nil
	}
	add(string(r.spec.Address))
	for _, p := range r.spec.Ports {
		add(string(p.Address))
	}
	return out
}

// nextHopAdvice says what a next hop could be.
func nextHopAdvice(prefixes []string, routers []*function) string {
	var could []string
	if len(prefixes) > 0 {
		could = append(could, "an address within "+strings.Join(prefixes, ", "))
	}
	for _, r := range routers {
		own := r.addresses()
		if len(own) == 0 {
			could = append(could, fmt.Sprintf("none, as router %q has no address", r.name))
			continue
		}
		could = append(could, fmt.Sprintf("%s of router %q", joinAddrs(own), r.name))
	}
	if len(could) == 0 {
		return "no interface lies behind it: leave via out"
	}
	return "it can be " + strings.Join(could, ", or ")
}

func joinAddrs(list []netip.Addr) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.String()
	}
	return strings.Join(out, " or ")
}
