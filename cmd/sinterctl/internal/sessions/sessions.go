// Package sessions lists the bindings that an engine keeps.
package sessions

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Session is one binding.
type Session struct {
	Run      string         `json:"run"`
	Protocol string         `json:"protocol"`
	Inside   netip.AddrPort `json:"inside"`
	Outside  netip.AddrPort `json:"outside"`
	Remote   netip.AddrPort `json:"remote"`
	IdleMS   uint64         `json:"idleMilliseconds"`
	Shard    uint32         `json:"shard"`
}

// List is the engine's sessions, sorted by inside and remote address.
func List(in []*programpb.Session) []Session {
	out := make([]Session, len(in))
	for i, s := range in {
		out[i] = Session{
			Run:      s.GetRun(),
			Protocol: describe.Value(headerspace.Proto, headerspace.V(uint64(s.GetProto()))),
			Inside:   describe.AddrPort(s.GetInsideAddress(), s.GetInsidePort()),
			Outside:  describe.AddrPort(s.GetOutsideAddress(), s.GetOutsidePort()),
			Remote:   describe.AddrPort(s.GetRemoteAddress(), s.GetRemotePort()),
			IdleMS:   s.GetIdleMs(), Shard: s.GetShard(),
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(a.Inside.Compare(b.Inside), a.Remote.Compare(b.Remote), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out
}

// Text writes the sessions as a table.
func Text(w io.Writer, list []Session) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tPROTOCOL\tINSIDE\tOUTSIDE\tREMOTE\tIDLE\tSHARD")
	for _, s := range list {
		idle := time.Duration(s.IdleMS) * time.Millisecond
		fmt.Fprintf(t, "%s\t%s\t%v\t%v\t%v\t%v\t%d\n", s.Run, s.Protocol, s.Inside, s.Outside, s.Remote, idle, s.Shard)
	}
	return t.Flush()
}
