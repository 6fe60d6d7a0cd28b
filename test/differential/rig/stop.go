package rig

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Stop is a function outside of the chain, as the suite has it: what it does to a packet depends on the packet alone, so it does the same to
// the engine's frame and to the oracle's.
type Stop struct {
	name    string
	by      int    // the interface that leads to it, from one side
	back    int    // and by which its packets come back
	turns   bool   // it sends some packets back by the side where they came from
	mac     []byte // of that side
	changes []headerspace.Field
	lies    []headerspace.Field // changes that it does not declare
	checks  *checks
}

// addStop notes both ways through a stop.
func (r *Rig) addStop(name string, e element.Stop) {
	var at [element.StopSides]int
	for side, wire := range e.Interfaces {
		at[side] = slices.IndexFunc(r.Graph.Interfaces, func(f graph.Interface) bool { return f.Name == wire })
	}
	turns := len(r.stops) == 0 // two that turn the same packets would pass them to and fro
	for side, by := range at {
		r.stops[by] = Stop{name, by, at[1-side], turns, r.Graph.Interfaces[by].MAC, e.Changes, lies(e.Changes), r.checksOf(by)}
	}
}

// The fates of packets at a stop, each up to a number of fates. All others come back as they are.
const (
	dropped   = 8
	forgotten = 10 // they come back from an address of the stop's own
	doubled   = 12
	turned    = 13 // they come back by the side where they came from
	written   = 36 // if the stop says that it writes
	lied      = 40 // a field is written that the stop does not say it writes
	fates     = 64
)

// pass is what the stop sends upon a frame.
func (s Stop) pass(frame []byte) (out []draw.Sent) {
	h := fnv.New32a()
	_, _ = h.Write(frame[12:])
	_, _ = h.Write([]byte(s.name))
	back, was, frame := s.back, frame, slices.Clone(frame)
	times := 1
	switch fate := int(h.Sum32() % fates); {
	case fate < dropped:
		return nil
	case fate < forgotten:
		copy(frame[6:], []byte{2, 9, 0, 0, 0, byte(s.back)})
	case fate < doubled:
		times = 2
	case fate < turned && s.turns:
		back = s.by
		copy(frame, s.mac)
	case fate < written:
		s.write(frame, s.changes, h.Sum32()/fates)
	case fate < lied:
		s.write(frame, s.lies, h.Sum32()/fates)
	}
	if back == s.back {
		s.checks.comeBack(was, frame, s.changes)
	}
	for range times {
		out = append(out, draw.Sent{Iface: back, Frame: frame})
	}
	return out
}

// packetOf is the IP packet of a frame.
func packetOf(frame []byte) []byte {
	if frame[12] != 0x08 { // tagged
		return frame[18:]
	}
	return frame[14:]
}

// write changes one of these fields.
func (s Stop) write(frame []byte, fields []headerspace.Field, n uint32) {
	if len(fields) == 0 {
		return
	}
	ip := packetOf(frame)
	was := slices.Clone(ip)
	switch fields[int(n)%len(fields)] {
	case headerspace.DSCP:
		ip[1] = ip[1]&3 | byte(n>>8)<<2
	case headerspace.TTL:
		ip[8] -= min(ip[8], byte(n>>8)%3)
	case headerspace.Src:
		header.SetSrc(ip, header.Src(ip)^(n>>8&3))
	case headerspace.Dst:
		header.SetDst(ip, header.Dst(ip)^(n>>8&3))
	default: // no stop that is drawn says so
	}
	header.MoveChecksums(was, ip)
}

// trip is packets that come back from stops, and whose they are.
type trip struct {
	Step
	theirs [][]byte // the frames as the engine gets them: with its own continuations
	of     []int    // index of the packet that came in first
}

// maxTrips bounds how often packets of a step come to stops. On each round they lose some of their TTL.
const maxTrips = 300

// leave takes what left for stops upon packet i on. Engine and oracle have continuations of their own.
func (r *Rig) leave(t *trip, i int, seen interp.Result) {
	wanted := onWires(r.stops, r.last)
	for k, o := range onWires(r.stops, seen) {
		if k >= len(wanted) { // refused by the oracle, which has said so
			return
		}
		ours := r.stops[o.Interface].pass(wanted[k].Frame)
		for n, theirs := range r.stops[o.Interface].pass(o.Frame) {
			t.Packets, t.theirs = append(t.Packets, ours[n]), append(t.theirs, theirs.Frame)
			t.of = append(t.of, i)
		}
	}
}

// onWires are the frames that leave for stops, by interface.
func onWires(stops map[int]Stop, of interp.Result) (out []interp.Out) {
	for _, o := range of.Out {
		if _, ok := stops[o.Interface]; ok {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b interp.Out) int { return a.Interface - b.Interface })
	return out
}

// comeBack runs packets that come back from stops, and adds what leaves then to that of the packets that came in first.
func (r *Rig) comeBack(ctx context.Context, t trip, left [][]draw.Sent) error {
	if len(t.Packets) == 0 {
		return nil
	}
	if r.trips++; r.trips > maxTrips {
		return fmt.Errorf("chain %s at %v: packets have come back from stops %d times", r.Chain, t.Now, maxTrips)
	}
	for first := 0; first < len(t.Packets); first += Batch {
		end := min(first+Batch, len(t.Packets))
		more, err := r.pass(ctx, Step{Now: t.Now, Packets: t.Packets[first:end]}, t.theirs[first:end])
		if err != nil {
			return err
		}
		for i, list := range more {
			left[t.of[first+i]] = append(left[t.of[first+i]], list...)
		}
	}
	return nil
}

// hold has packets of a step stay at stops until release.
func (r *Rig) hold(ctx context.Context, s Step) error {
	r.held = &trip{}
	defer func() { r.holding = false }()
	r.holding = true
	_, err := r.Run(ctx, s)
	return err
}

// release lets packets come back that were held, whatever chain there is by now, and tells how many.
func (r *Rig) release(ctx context.Context, now time.Duration) (int, error) {
	away := *r.held
	away.Now = now
	left := make([][]draw.Sent, Batch)
	return len(away.Packets), r.comeBack(ctx, away, left)
}

// Copies are how many packets left for functions that get copies.
func (r *Rig) Copies() (n uint64) {
	for i, f := range r.Graph.Interfaces {
		if slices.ContainsFunc(r.Graph.Nodes, func(n graph.Node) bool { return n.Element == element.Tap{Interface: f.Name} }) {
			n += uint64(r.Stats.out[i])
		}
	}
	return n
}

// known is what a program has of the packets that may be at stops.
func known(p *programpb.Program) *interp.Known {
	wires, hops := map[string]bool{}, map[uint32]bool{}
	for _, s := range p.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				if stop := l.GetStop(); stop != nil {
					wires[p.GetInterfaces()[stop.GetOut()].GetName()] = true
				}
				for _, o := range l.GetOps() {
					if of, _ := rule.OperationOf(o); of.Hops != nil {
						for _, h := range of.Hops(p, o) {
							hops[h] = true
						}
					}
				}
			}
		}
	}
	return &interp.Known{
		Leaves: func(wire string) bool { return wires[wire] },
		Notes:  func(hop netip.Addr) bool { return hop.IsValid() && hops[packets.Number(hop)] },
	}
}

// Untagged is what an engine did, without the marks of frames that left for stops: each program that is loaded has its own.
func (r *Rig) Untagged(did interp.Seen) interp.Seen {
	did.Out = slices.Clone(did.Out)
	for i, o := range did.Out {
		if _, stop := r.stops[o.Interface]; stop {
			did.Out[i].Frame = slices.Concat(o.Frame[:6], make([]byte, 6), o.Frame[12:])
		}
	}
	return did
}
