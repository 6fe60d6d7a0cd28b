package synth

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Decision is one classification on a packet's way through the program.
type Decision struct {
	Segment string
	// Packet is as the segment saw it.
	Packet headerspace.Packet
	// Leaf is the traffic class unit that holds the packet, Class what happens to it.
	Leaf  *Leaf
	Class *Class
	// Trace is the packet's way through the elements that were merged.
	Trace []Step
	// Guess tells that a value in Packet is chosen at run time; Packet has the first possible one.
	Guess bool
}

// maxDecisions is more than any chain's segments in a row.
const maxDecisions = 64

// Explain follows a packet that enters by an interface through the program, as far
// as the program alone can tell: up to an output, a drop, an answer, or the
// state table that a return packet is looked up in. Of a copied packet the first copy is followed.
func (r *Result) Explain(iface int, pkt headerspace.Packet) []Decision {
	var out []Decision
	seg, guess := int(r.Program.Interfaces[iface].Segment), false
	for len(out) < maxDecisions {
		s := r.Segments[seg]
		leaf, ok := s.Match(&pkt)
		if !ok {
			return out
		}
		out = append(out, Decision{
			Segment: s.Name, Packet: pkt, Leaf: leaf, Class: &s.Classes[leaf.Class], Trace: r.Trace(leaf), Guess: guess,
		})
		leg := r.Program.Segments[seg].Classes[leaf.Class].Legs[0]
		for _, o := range leg.Ops {
			if r.apply(o, &pkt) {
				guess = true
			}
		}
		next, ok := leg.Outcome.(*programpb.Leg_Segment)
		if !ok {
			return out
		}
		seg = int(next.Segment)
	}
	return out
}

// apply is an operation on a packet's fields; guess tells that it chose a value.
func (r *Result) apply(o *programpb.Op, pkt *headerspace.Packet) (guess bool) {
	switch o := o.Op.(type) {
	case *programpb.Op_Set:
		set(pkt, headerspace.Field(o.Set.Field), o.Set.Value)
	case *programpb.Op_AddTtl:
		pkt[headerspace.TTL] = headerspace.V(pkt[headerspace.TTL].Lo + uint64(int64(o.AddTtl)))
	case *programpb.Op_StateForward:
		t := r.Program.Tables[r.Program.Runs[o.StateForward].Table]
		set(pkt, headerspace.Src, t.Pool[0].First)
		set(pkt, headerspace.SPort, t.PortMin)
		return true
	}
	return false
}

func set(pkt *headerspace.Packet, f headerspace.Field, v uint32) {
	switch f {
	case headerspace.Src, headerspace.Dst:
		pkt[f] = headerspace.Addr(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}))
	case headerspace.SPort, headerspace.DPort:
		if absent, _ := f.Absent(); pkt[f] != absent {
			pkt[f] = headerspace.V(uint64(v))
		}
	default:
		pkt[f] = headerspace.V(uint64(v))
	}
}
