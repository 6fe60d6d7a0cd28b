package click

import (
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// enterKeep: a rewriter that keeps flows as they are knows them, so that replies take their output. Of packets of no known flow, an input that
// keeps begins one.
func (x *visit) enterKeep(w *rewriter, s *inputSpec) target {
	var keeper *inputSpec
	for i := range w.specs {
		if k := &w.specs[i]; k.kind == specKeep && (keeper == nil || k == s) {
			keeper = k
		}
	}
	// All that share a table agree which end of a flow is inside: packets of the first input that keeps come from there.
	fromOutside := s != firstKeep(w)
	established := keeper.reply
	if keeper == s {
		established = keeper.forward
	}
	unknown := func(what string) target {
		if s.kind == specPass {
			return x.onward(s.forward, x.state)
		}
		return x.lost(what)
	}
	return x.choose([]way{{"flows", w.requests, func() target {
		track := target(x.addMade(Made{Outs: []string{"new", "established", "related", "invalid"}, Make: func(name string) element.Element {
			return element.Track{Tracking: x.tracking(w, name), FromOutside: fromOutside}
		}}))
		x.link(track.output("established"), x.onward(established, x.state))
		x.link(track.output("related"), unknown("related"))
		x.link(track.output("invalid"), unknown("invalid"))
		if s.kind != specKeep {
			x.link(track.output("new"), unknown("drop"))
			return track
		}
		admit := target(x.addMade(Made{Outs: []string{""}, Make: func(name string) element.Element {
			return element.Admit{Tracking: x.tracking(w, name), FromOutside: fromOutside}
		}}))
		x.link(track.output("new"), admit)
		x.link(admit, x.onward(s.forward, x.state))
		return track
	}}}, func() target { return unknown("protocol") })
}

// firstKeep is the first input that keeps flows; there is one.
func firstKeep(w *rewriter) *inputSpec {
	for i := range w.specs {
		if w.specs[i].kind == specKeep {
			return &w.specs[i]
		}
	}
	return nil
}

// tracking is the table of a rewriter's flows, given the name of one of its elements. Click begins a flow with any packet; here SYN, and
// segments with ACK that do not reset, begin one.
func (x *visit) tracking(w *rewriter, name string) element.Tracking {
	function, _, _ := strings.Cut(name, "/")
	name = function + "/" + x.el.Name
	duration := func(s v1alpha1.Duration) time.Duration {
		d, _ := s.Parse() // written by seconds
		return d
	}
	t := element.Tracking{
		Table: name, Full: name + "/full", Max: defaultMappings, PickUp: true,
		Timeouts: element.Timeouts{
			TCP: duration(w.timeouts.TCP), TCPTransitory: duration(w.timeouts.TCPTransitory), UDP: duration(w.timeouts.UDP), ICMP: duration(w.timeouts.ICMP),
		},
	}
	if w.capacity > 0 {
		t.Max = w.capacity
	}
	return t
}
