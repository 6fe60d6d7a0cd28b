package draw

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// drawStop draws a function outside of the chain, at times with replicas. Its wires are missing until all functions are linked (addWires).
func drawStop(d *Drawer) (left, right Side) {
	name := d.name("stop")
	s := d.behavior()
	if d.one("replicas", 3) {
		return d.replicas(name, s)
	}
	n := d.Add(name, "stop", between(s, name))
	// Packets that go past an open one that is down come in again behind their burst: how many of a flow are judged before that is up to the engine.
	if len(s.Changes) == 0 && s.WhenDown != element.StopOpen && d.one("bypass", 2) {
		return d.bypass(name, n)
	}
	face := func(side int) Side {
		return Side{In: graph.Edge{To: n, Port: side}, Outs: []graph.Edge{{To: n, Port: side}}}
	}
	return face(element.StopInside), face(element.StopOutside)
}

// between is a stop with wires of its own.
func between(s element.Stop, name string) element.Stop {
	s.Interfaces = [element.StopSides]string{name + "-a", name + "-b"}
	return s
}

// behavior draws what a function outside of the chain says of itself, and what becomes of packets while it is down.
func (d *Drawer) behavior() (s element.Stop) {
	for _, f := range []hs.Field{hs.Src, hs.Dst, hs.DSCP, hs.TTL} {
		if d.one("changes "+f.String(), 4) {
			s.Changes = append(s.Changes, f)
		}
	}
	fates := []element.WhenDown{element.StopUnwatched, element.StopClosed, element.StopOpen}
	if len(s.Changes) > 0 {
		fates = fates[:2]
	}
	s.WhenDown = fates[d.int("when down", 0, len(fates)-1)]
	return s
}

// replicas has two or three stops that do the same share their flows.
func (d *Drawer) replicas(name string, s element.Stop) (left, right Side) {
	timeouts := d.timeouts()
	timeouts.TCPClosing = []time.Duration{Timeouts.ICMP, Timeouts.UDP, Timeouts.TCPTransitory}[d.int("closing", 0, 2)]
	var all []element.Replica
	var stops []int
	for i := range d.int("number of replicas", 2, 3) {
		one := fmt.Sprint(name, "r", i)
		at := between(s, one)
		stops = append(stops, d.Add(name, one, at))
		all = append(all, element.Replica{
			Flows: element.Passing{Table: one, Timeouts: timeouts, Max: ManyFlows}, Interfaces: at.Interfaces, Draining: d.one("draining", 4),
		})
	}
	var sides [element.StopSides]Side
	for from, way := range []string{"forth", "back"} {
		before := d.Add(name, "assign-"+way, element.Assign{Replicas: all, FromOutside: from == element.StopOutside})
		behind := d.Add(name, Shared+"-"+way, element.Counter{})
		for i, r := range all {
			assigned := d.Add(name, r.Flows.Table+"-"+way, element.Assigned{Flows: r.Flows, FromOutside: from == element.StopOutside})
			d.Wire(before, i, assigned)
			d.connect(graph.Edge{To: assigned}, graph.Edge{To: stops[i], Port: from})
			d.Wire(stops[i], 1-from, behind)
		}
		sides[from].In = graph.Edge{To: before}
		sides[1-from].Outs = []graph.Edge{{To: behind}}
	}
	return sides[element.StopInside], sides[element.StopOutside]
}

// bypass has flows go past a stop of which it has let a few packets through.
func (d *Drawer) bypass(name string, stop int) (left, right Side) {
	p := element.Passing{Table: name + "/flows", Timeouts: d.timeouts(), Max: ManyFlows, Packets: d.packetsToPass()}
	p.Timeouts.TCPClosing = []time.Duration{Timeouts.ICMP, Timeouts.UDP, Timeouts.TCPTransitory}[d.int("closing", 0, 2)]
	var sides [element.StopSides]Side
	for from, way := range []string{"forth", "back"} {
		before := d.Add(name, "bypass-"+way, element.Bypass{Passing: p, FromOutside: from == element.StopOutside})
		past := d.Add(name, AfterPackets+"-"+way, element.Counter{})
		passed := d.Add(name, "passed-"+way, element.Passed{Passing: p, FromOutside: from == element.StopOutside})
		d.connect(graph.Edge{To: before, Port: element.BypassThrough}, graph.Edge{To: stop, Port: from})
		d.Wire(before, element.BypassPast, past)
		d.Wire(stop, 1-from, passed)
		sides[from].In = graph.Edge{To: before}
		sides[1-from].Outs = []graph.Edge{{To: passed}, {To: past}}
	}
	return sides[element.StopInside], sides[element.StopOutside]
}

// Shared begins the names of the counters of packets that passed one of several replicas.
const Shared = "shared"

// AfterPackets begins the names of the counters of packets that go past a stop, as it has let enough of their flows through.
const AfterPackets = "after-packets"

// PacketsToPass are how many packets of a flow stops have to let through, each of which is drawn as often.
var PacketsToPass = []int{1, 2, 3, 5}

func (d *Drawer) packetsToPass() int { return PacketsToPass[d.int("packets", 0, len(PacketsToPass)-1)] }

// drawTap draws a function outside of the chain that gets copies of one direction or of both.
func drawTap(d *Drawer) (left, right Side) {
	name := d.name("tap")
	end := d.Add(name, "tap", element.Tap{Interface: name + "-t"})
	way := func(direction string, copies bool) (graph.Edge, []graph.Edge) {
		if !copies {
			n := d.Add(name, direction, element.Counter{})
			return graph.Edge{To: n}, []graph.Edge{{To: n}}
		}
		n := d.Add(name, direction, element.Tee{Outs: 2})
		d.Wire(n, 1, end)
		return graph.Edge{To: n}, []graph.Edge{{To: n}}
	}
	forth, there := way("forth", true)
	back, here := way("back", d.one("both directions", 2))
	return Side{In: forth, Outs: here}, Side{In: back, Outs: there}
}

// outside draws a function outside of the chain through which packets go, and often one that gets copies before it.
func (d *Drawer) outside(a Side) Side {
	if d.one("tap", 2) {
		left, right := drawTap(d)
		d.Link(a, left)
		a = right
	}
	left, right := drawStop(d)
	d.Link(a, left)
	return right
}

// addWires gives the stops and taps of a chain, which is linked, their interfaces. Some are narrower than the chain's others.
func (d *Drawer) addWires() {
	for n := range d.Graph.Nodes {
		first := len(d.Graph.Interfaces)
		switch e := d.Graph.Nodes[n].Element.(type) {
		case element.Stop:
			d.Graph.AddWires(n, [element.StopSides]netip.Addr{d.Graph.Interfaces[0].Prefix.Addr(), d.Graph.Interfaces[1].Prefix.Addr()})
		case element.Tap:
			d.Graph.AddTap(e.Interface, d.Graph.Nodes[n].Function, e.Interface+"/returned", d.Graph.Interfaces[0].Prefix.Addr())
		}
		for i := first; i < len(d.Graph.Interfaces); i++ {
			d.Graph.Interfaces[i].MAC = net.HardwareAddr{2, 0, 0, 0, 1, byte(i)}
			d.Graph.Interfaces[i].MTU = []int{1500, 1500, 1500, 200}[d.int("mtu", 0, 3)]
		}
	}
}

// Stopped is a line with one to three stops among other functions, and taps.
var Stopped = Shape{Name: "stops", Draw: func(d *Drawer) {
	a, b := d.attach(), d.attach()
	ends := [2]int{0, 1}
	a = d.join(a, 0, 2, ends)
	for range d.int("stops", 1, 3) {
		a = d.join(d.outside(a), 0, 2, ends)
	}
	d.Link(a, b)
	d.addWires()
}}

// StoppedHub is a router with a branch of functions to each of three interfaces, and a stop on each of two, and taps.
var StoppedHub = Shape{Name: "stops around a router", Draw: func(d *Drawer) {
	const n = 3
	faces := d.drawRouter(n, func(face int) int { return face })
	for i := range n {
		s := d.join(d.attach(), 0, 2, [2]int{i, (i + 1) % n})
		if i > 0 {
			s = d.join(d.outside(s), 0, 1, [2]int{i, (i + 1) % n})
		}
		d.Link(s, faces[i])
	}
	d.addWires()
}}
