package rig

import (
	"bytes"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/differential/draw"
)

// NotOurs is the reason of packets that need another worker's state.
const NotOurs = "not-ours"

// refused tells whether a worker dropped a packet as not-ours which needs state of two shards, and
// so perhaps of two workers (docs/sharding.md). It leaves no trace in state.
func (r *Rig) refused(now time.Duration, p draw.Sent, seen interp.Result) bool {
	if len(seen.Out) > 0 || len(seen.Drops) != 1 || !r.needsTwoShards(now, p, seen) {
		return false
	}
	r.Stats.Packets++
	r.Stats.early += r.mostMet(now, p)
	r.Stats.Drops[NotOurs]++
	return true
}

// needsTwoShards tells whether not-ours is a reason for which some packet that this one caused may be dropped.
func (r *Rig) needsTwoShards(now time.Duration, p draw.Sent, seen interp.Result) bool {
	if r.Workers == 1 || !slices.Contains(seen.Drops, interp.Drop{Reason: NotOurs}) {
		return false
	}
	w := way{elements: r.elements}
	r.Oracle.Peek(now, p.Iface, p.Frame, w.step)
	return w.twoShards
}

// way is what a packet, with what it causes, has met.
type way struct {
	elements  map[string]element.Element
	made      bool // a NAPT has translated it
	turned    bool // then it was translated back, or answered
	twoShards bool

	back    bool   // it was translated back, or what it answers
	table   string // the last one of flows that it met since
	outside bool   // it came to that from there
}

func (w *way) step(s interp.Step) {
	switch e := w.elements[s.Node].(type) {
	case element.LocalHost, element.EchoResponder, element.ICMPError, element.Reject:
		w.turned = w.turned || w.made && s.Port >= 0
	case element.NAPT:
		w.translate(s.Port)
	case element.Track:
		w.meet(e.Table, e.FromOutside)
	case element.ConnLimit:
		w.meet(e.Table, s.Port == element.ConnLimitInside)
	}
}

// translate has the packet leave a NAPT. One that leaves by a NAPT again may need the state of two shards.
func (w *way) translate(port int) {
	switch port {
	case element.NAPTInside:
		w.turned, w.back, w.table = true, true, ""
	case element.NAPTOutside:
		w.made, w.twoShards = true, w.twoShards || w.turned
	}
}

// meet has the packet meet a table of flows. One that was translated back, or what answers it, may need the state of two shards if it comes back to
// the table.
func (w *way) meet(table string, outside bool) {
	if !w.back {
		return
	}
	w.twoShards = w.twoShards || table == w.table && outside != w.outside
	w.table, w.outside = table, outside
}

// mostMet is how often a packet and what it causes come to the node that they come to most, which may count each time.
func (r *Rig) mostMet(now time.Duration, p draw.Sent) (most uint64) {
	met := map[string]uint64{}
	r.Oracle.Peek(now, p.Iface, p.Frame, func(s interp.Step) {
		met[s.Node]++
		most = max(most, met[s.Node])
	})
	return most
}

// answerRefused tells whether all that differs is that the answer to a packet was refused so.
func (r *Rig) answerRefused(twoShards bool, want, seen interp.Result) bool {
	if !twoShards || len(want.Out)+len(want.Drops) != len(seen.Out)+len(seen.Drops) {
		return false
	}
	for _, o := range seen.Out {
		if !slices.ContainsFunc(want.Out, func(w interp.Out) bool { return w.Interface == o.Interface && bytes.Equal(w.Frame, o.Frame) }) {
			return false
		}
	}
	for _, d := range seen.Drops {
		if d.Reason != NotOurs && !slices.Contains(want.Drops, d) {
			return false
		}
	}
	return true
}
