package describe

import (
	"net/netip"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

func TestOfManyRangesTheOneAroundThePacketIsWritten(t *testing.T) {
	var every []headerspace.Interval
	for i := range byte(20) {
		a := headerspace.Addr(netip.AddrFrom4([4]byte{20, 2 * i, 0, 0}))
		every = append(every, headerspace.Interval{Lo: a, Hi: a.Add64(0xffff)})
	}
	f := headerspace.Filter{}.With(headerspace.Dst, headerspace.NewSet(every...)).With(headerspace.Proto, headerspace.Of(6))
	var p headerspace.Packet
	p[headerspace.Dst] = headerspace.Addr(netip.MustParseAddr("20.6.1.2"))
	for _, c := range []struct {
		filter headerspace.Filter
		want   string
	}{
		{f, "dst 20.6.0.0/16  proto tcp  (dst is one of 20 ranges)"},
		{f.With(headerspace.Dst, headerspace.NewSet(every[3:5]...)), "dst 20.6.0.0/16,20.8.0.0/16  proto tcp"},
	} {
		if got := Around(c.filter, &p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
