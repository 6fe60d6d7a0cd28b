package model

import (
	"fmt"
	"slices"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// EndsAsSaid compares what became of the present frame with what is said of the classes that it met.
func (m *Model) EndsAsSaid() error {
	for _, v := range m.visits {
		ends, ok := m.ends[v.leg]
		if !ok {
			ends = program.Ends(m.p, v.segment, v.leg)
			m.ends[v.leg] = ends
		}
		pkt := v.seen.point()
		e := &ends[slices.IndexFunc(ends, func(e program.End) bool { return e.Holds(&pkt) })]
		if v.drop == e.Drop || v.drop != "" && slices.Contains(e.Unless, v.drop) {
			continue
		}
		return fmt.Errorf("segment %s says that the packet %v is dropped as %q (empty: not), or else as one of %q; it was dropped as %q",
			m.p.GetSegments()[v.segment].GetName(), pkt, e.Drop, e.Unless, v.drop)
	}
	return nil
}

// point is the packet's fields.
func (s *Shot) point() hs.Packet {
	var out hs.Packet
	for f := range hs.NumFields {
		v := s.Field(programpb.Field(f))
		out[f] = hs.V(uint64(v))
		if f == hs.Src || f == hs.Dst {
			out[f] = hs.Addr(packets.Addr(v))
		}
	}
	return out
}
