package rule

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Exit is what is known of packets behind a leg's operations.
type Exit struct {
	Hop  bool // whether a next hop is noted is known: Via
	Via  bool
	Dst  *netip.Addr        // that has been written; nil: none, or it is not known which
	VLAN *headerspace.Value // that has been written; nil: none
	// Redirected packets may have got another destination, which is not known.
	Redirected bool
}

// Redirect notes that packets may get another destination, which is not known.
func (x *Exit) Redirect() { x.Redirected, x.Dst = true, nil }
