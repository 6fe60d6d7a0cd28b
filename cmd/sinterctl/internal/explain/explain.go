// Package explain tells what becomes of one packet, and why: on its way through
// the chain as it was written, and in the program that was synthesized of it.
package explain

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
)

// Explainer explains packets one after the other; state that one makes (NAT bindings), the next ones see.
type Explainer struct {
	graph  *graph.Graph
	result *synth.Result
	chain  *interp.Chain
	steps  []interp.Step
	now    time.Duration
}

// New makes an explainer of a chain and its program.
func New(g *graph.Graph, r *synth.Result) *Explainer {
	e := &Explainer{graph: g, result: r}
	e.chain = interp.New(g, interp.Options{Trace: func(s interp.Step) { e.steps = append(e.steps, s) }})
	return e
}

// Story is what became of a packet.
type Story struct {
	// Behind is the function outside of the chain that let the packet through, so that it came in once more. Empty: it is new.
	Behind    string   `json:"behind,omitempty"`
	Reply     bool     `json:"reply,omitempty"` // to what left in the stories before
	Interface string   `json:"interface"`
	Packet    string   `json:"packet"`
	Chain     []Step   `json:"chain"`
	Program   []Lookup `json:"program"`
	Rewrite   []string `json:"rewrite,omitempty"` // of the packet
	Answer    string   `json:"answer,omitempty"`  // the packet made instead
	Fate      []string `json:"fate"`

	Out []interp.Out `json:"-"`
}

// Step is one element of the chain that the packet passed.
type Step struct {
	Element string `json:"element"`
	Leaves  string `json:"leaves,omitempty"` // by this port
	Why     string `json:"why,omitempty"`
	Changed string `json:"changed,omitempty"`
}

// Lookup is one classification in the program.
type Lookup struct {
	Segment string   `json:"segment"`
	Filter  string   `json:"filter"`
	Class   int      `json:"class"`
	Does    []string `json:"does"`
	Merged  []string `json:"merged"` // the elements that became one
}

// Interface finds a chain interface by name.
func (e *Explainer) Interface(name string) (int, error) {
	var names []string
	for i, n := range e.graph.Interfaces {
		if n.Name == name {
			return i, nil
		}
		names = append(names, n.Name)
	}
	return 0, fmt.Errorf("--in %s: the chain's interfaces are %s", name, strings.Join(names, ", "))
}

// MAC is the address that frames to an interface carry.
func (e *Explainer) MAC(iface int) net.HardwareAddr {
	if mac := e.graph.Interfaces[iface].MAC; mac != nil {
		return mac
	}
	return net.HardwareAddr{0x02, 0x73, 0x6e, 0, 0, byte(iface)} // interp's own
}

// Explain sends a frame through the chain and looks it up in the program.
func (e *Explainer) Explain(iface int, frame []byte) Story {
	return e.explain(iface, frame, int(e.result.Program.GetInterfaces()[iface].GetSegment()))
}

// explain looks it up in the program from a segment on.
func (e *Explainer) explain(iface int, frame []byte, segment int) Story {
	e.steps = nil
	e.now += time.Millisecond
	res := e.chain.Process(e.now, iface, Address(frame, e.MAC(iface)), nil)
	s := Story{Interface: e.graph.Interfaces[iface].Name, Out: res.Out, Chain: []Step{}, Program: []Lookup{}}
	s.Fate = e.fates(iface, res)
	if len(e.steps) == 0 { // refused at the entry
		s.Packet = fmt.Sprintf("%d bytes", len(frame))
		return s
	}
	s.Packet = describe.Packet(&e.steps[0].Packet)
	s.Chain = e.way()
	s.Program = e.lookups(segment)
	last := e.end()
	if slices.ContainsFunc(e.steps, e.makes) {
		s.Answer = describe.Packet(last)
	} else {
		s.Rewrite = changes(&e.steps[0].Packet, last)
	}
	return s
}

// Reply explains the reply to the first frame that left by a link, and follows it as Follow does: first of all, whether it arrives.
func (e *Explainer) Reply(to []Story) ([]Story, error) {
	for _, s := range to {
		for _, o := range s.Out {
			if !o.Tagged && e.copiedTo(o) == "" {
				first, err := e.reply(o)
				if err != nil {
					return nil, err
				}
				return e.passages(first), nil
			}
		}
	}
	return nil, errors.New("the packet does not leave the chain, so there is no reply")
}

func (e *Explainer) reply(to interp.Out) (Story, error) {
	frame, err := reply(to.Frame, e.MAC(to.Interface))
	if err != nil {
		return Story{}, err
	}
	s := e.Explain(to.Interface, frame)
	s.Reply = true
	if why := e.unasked(to.Interface, addresses(frame)[1]); why != "" {
		s.Fate = append([]string{"never arrives: " + why + "; if it came all the same:"}, s.Fate...)
	}
	return s, nil
}

func (e *Explainer) way() []Step {
	var out []Step
	before := &e.steps[0].Packet
	for i := range e.steps {
		s := &e.steps[i]
		step := Step{Element: s.Node, Leaves: e.port(s), Why: s.Note}
		if e.makes(*s) {
			step.Changed = describe.Packet(&s.Packet)
		} else {
			step.Changed = strings.Join(changes(before, &s.Packet), ", ")
		}
		out = append(out, step)
		before = &s.Packet
	}
	alike := func(a, b *Step) bool { return a.Element == b.Element && a.Leaves == b.Leaves }
	return rounds(out, alike, e.again)
}

// makes tells whether a new packet came out of a step.
func (e *Explainer) makes(s interp.Step) bool {
	n := e.node(s)
	return n != nil && n.Element.Traits().Generates && s.Port >= 0
}

func (e *Explainer) node(s interp.Step) *graph.Node {
	i := slices.IndexFunc(e.graph.Nodes, func(n graph.Node) bool { return n.Name == s.Node })
	if i < 0 {
		return nil
	}
	return &e.graph.Nodes[i]
}

// port names the output that a step took, by where it leads.
func (e *Explainer) port(s *interp.Step) string {
	n := e.node(*s)
	if n == nil || s.Port < 0 || s.Port >= len(n.Out) {
		return ""
	}
	if to := n.Out[s.Port].To; to >= 0 {
		return e.graph.Nodes[to].Name
	}
	return ""
}

// changes are the fields that differ, in words.
func changes(a, b *headerspace.Packet) []string {
	var out []string
	for f := range headerspace.NumFields {
		if a[f] != b[f] {
			out = append(out, fmt.Sprintf("%s %s → %s", f, describe.Value(f, a[f]), describe.Value(f, b[f])))
		}
	}
	return out
}

// lookups follows the packet from segment to segment. Rounds of a loop are summed up.
func (e *Explainer) lookups(segment int) []Lookup {
	var out []Lookup
	p := e.result.Program
	at := 0 // step of the chain that the program has come to
	for segment >= 0 && len(out) < int(p.GetLongestWay()) {
		s := e.result.Segments[segment]
		leaf, ok := s.Match(&e.steps[at].Packet)
		if !ok {
			break
		}
		l := Lookup{Segment: s.Name, Filter: describe.Around(leaf.Filter, &e.steps[at].Packet), Class: leaf.Class}
		l.Does = describe.Legs(p, segment, p.GetSegments()[segment].GetClasses()[leaf.Class], &e.steps[at].Packet)
		for _, step := range e.result.Trace(leaf) {
			l.Merged = append(l.Merged, step.String())
			if i := slices.IndexFunc(e.steps[at:], func(s interp.Step) bool { return s.Node == step.Node }); i >= 0 {
				at += i
			}
		}
		out = append(out, l)
		segment = e.next(p.GetSegments()[segment].GetClasses()[leaf.Class], at)
	}
	alike := func(a, b *Lookup) bool { return a.Segment == b.Segment && a.Class == b.Class }
	return rounds(out, alike, func(n, length, _, _ int) Lookup {
		return Lookup{Segment: fmt.Sprintf("… %d more rounds (look-ups of a round: %d)", n, length)}
	})
}

// next is the segment where the packet is classified again; -1: nowhere. Of copies, the first is followed.
func (e *Explainer) next(c *programpb.Class, at int) int {
	for _, leg := range c.GetLegs() {
		switch o := leg.GetOutcome().(type) {
		case *programpb.Leg_Segment:
			return int(o.Segment)
		case *programpb.Leg_Generator:
			if e.steps[at].Port < 0 {
				return -1 // the generator was silent
			}
			return int(e.result.Program.GetGenerators()[o.Generator].GetSegment())
		case *programpb.Leg_StateReturn:
			return e.run(int(o.StateReturn), at)
		case *programpb.Leg_Track, *programpb.Leg_Bypass, *programpb.Leg_Assign:
			return int(program.LeadsTo(leg)[e.steps[at].Port])
		}
	}
	return -1
}

// run is the segment behind the NAPTs that translated the packet back.
func (e *Explainer) run(table, at int) int {
	best, length := -1, 0
	for i, r := range e.result.Program.GetRuns() {
		napts := e.result.Runs[i].Nodes
		if int(r.GetTable()) == table && len(napts) > length && e.passed(napts, at) {
			best, length = int(r.GetSegment()), len(napts)
		}
	}
	return best
}

// passed tells whether the rest of the way leads back through the NAPTs, the last one first.
func (e *Explainer) passed(napts []string, at int) bool {
	for _, name := range slices.Backward(napts) {
		i := slices.IndexFunc(e.steps[at:], func(s interp.Step) bool { return s.Node == name && s.Port >= 0 })
		if i < 0 {
			return false
		}
		at += i
	}
	return true
}
