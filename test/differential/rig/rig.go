// Package rig runs a chain in the engine's harness and in the oracle, and compares the two packet by
// packet.
package rig

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth"
	"github.com/sinter-nfv/sinter/dataplane/synth/trees"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/packets"
)

// Rig runs one chain in the engine and in the oracle, side by side.
type Rig struct {
	Chain  string
	Graph  *graph.Graph
	Result *synth.Result
	// Exhausts says that a NAPT of the chain may run out of the ports of one shard.
	Exhausts bool
	Workers  int                // of the engine
	Cut      string             // what tells it the shard of a flow
	Cache    int                // decisions that a worker keeps whole
	stops    map[int]Stop       // functions outside of the chain, by the interface that leads to them
	checks   map[string]*checks // of ways through them, by the interface's name
	watched  watched
	probes   map[int]uint64             // that the engine sent, by interface
	last     interp.Result              // what was right for the last packet
	trips    int                        // how often packets of the step at work have come back
	held     *trip                      // packets that stay at stops
	holding  bool                       // whether those of the step at work do
	elements map[string]element.Element // by name
	tabled   bool                       // its routes are in tables by content
	loaded   []*fib.Table               // those of the program in force

	Engine  *Harness
	Oracle  *interp.Chain
	History []Step
	Stats   tally
}

// Step is packets that are injected at one time, after shards have moved to other workers.
type Step struct {
	Now     time.Duration
	Packets []draw.Sent
	Moves   []*controlpb.ShardMove
}

// tally is what the oracle saw, to be compared with the engine's statistics at the end.
type tally struct {
	Packets int
	Left    int    // of the packets, those upon which some frame left
	Shared  int    // sessions at the end whose outside address and port another has too
	early   uint64 // how often counters may count packets or not that are dropped elsewhere than in the oracle
	Checked uint64 // frames that left for a stop to be compared with what comes back
	Lies    uint64 // … that were changed then as the stop does not declare
	Moves   int    // of shards to other workers
	Drops   map[string]uint64
	out     []uint64 // per interface
}

// Mismatch is a packet on which engine and oracle differ.
type Mismatch struct {
	chain  string
	now    time.Duration
	packet draw.Sent
	entry  string // interface
	detail string
	kinds  []interp.Kind
	alone  int // packets before it that it takes; -1: not looked for
}

// Error tells the packet, and how engine and oracle differ on it.
func (m *Mismatch) Error() string {
	var s strings.Builder
	if m.packet.Frame == nil {
		return fmt.Sprintf("chain %s: engine and oracle counted differently at the end\n%s", m.chain, m.detail)
	}
	fmt.Fprintf(&s, "chain %s: engine and oracle differ at %v on a packet entering by %s\n%s\n%s",
		m.chain, m.now, m.entry, packets.Describe(m.packet.Frame), m.detail)
	return s.String()
}

// New synthesizes a chain.
func New(g *graph.Graph) (*Rig, error) { return NewInTables(g, false) }

// NewFrom synthesizes a chain whose oracle has another graph, of the same meaning.
func NewFrom(g, from *graph.Graph) (*Rig, error) {
	res, err := synth.Synthesize(from, synth.Options{Joined: joined(g.Chain)})
	if err != nil {
		return nil, fmt.Errorf("chain %s: %w", g.Chain, err)
	}
	if err := program.Validate(res.Program); err != nil {
		return nil, err
	}
	res.Program.IcmpRate = 0 // the oracle answers everything
	r := &Rig{
		Chain: g.Chain, Graph: g, Result: res, Workers: workers(g.Chain), Cut: PartitionByHost, Cache: decisions(g.Chain),
		elements: map[string]element.Element{}, stops: map[int]Stop{}, checks: map[string]*checks{},
	}
	if draw.Metered(g) {
		r.Workers = 1 // several share a bucket by chunks (docs/elements.md)
	}
	for _, s := range res.Program.GetSubscribers() {
		if s.GetMaxSessions() < draw.ManyOfAHost || s.GetMaxPorts() > 0 && s.GetMaxPorts() < draw.ManyOfAHost {
			r.Workers = 1 // one counts what another has not reclaimed yet
		}
	}
	for _, n := range g.Nodes {
		r.elements[n.Name] = n.Element
		switch e := n.Element.(type) {
		case element.Track:
			if e.Max < draw.ManyFlows {
				r.Workers = 1 // each has a share of the room
			}
		case element.ConnLimit:
			if e.Max < draw.ManyFlows {
				r.Workers = 1 // as above
			}
		case element.Bypass:
			if e.Max < draw.ManyFlows {
				r.Workers = 1 // as above
			}
		case element.Stop:
			r.addStop(n.Name, e)
			r.watched.add(n.Name, e)
		}
	}
	return r, nil
}

// Start starts an engine with the chain's program, and an oracle, both without state.
func (r *Rig) Start(ctx context.Context) error {
	encoded, err := program.Encode(r.Result.Program)
	if err != nil {
		return err
	}
	r.Engine, err = StartHarness(ctx, r.Workers, r.Cut, r.Cache)
	if err != nil {
		return err
	}
	r.loaded = nil
	loaded, err := r.Load(ctx, encoded, r.Result)
	if err != nil {
		return fmt.Errorf("chain %s: %w", r.Chain, r.Engine.Died(err))
	}
	if err := foreseen(r.Result.Program, loaded.GetWalks()); err != nil {
		return fmt.Errorf("chain %s: %w", r.Chain, err)
	}
	r.Reset()
	return nil
}

// foreseen is an error if walks through the tables that the engine has of its first program are not those that the synthesis foresees.
func foreseen(p *programpb.Program, walks []*controlpb.Walk) error {
	for i, s := range p.GetSegments() {
		for _, t := range []*programpb.Table{s.GetTable(), s.GetLow()} {
			if t == nil {
				continue
			}
			low := t == s.GetLow()
			var engine trees.Walk
			if len(walks) > 0 && walks[0].GetSegment() == uint32(i) && walks[0].GetLow() == low {
				engine = trees.Walk{Steps: float64(walks[0].GetSteps()), Longest: int(walks[0].GetLongest())}
				walks = walks[1:]
			}
			if want := trees.Of(t, low); engine != want {
				return fmt.Errorf("segment %s, low %t: walks of the engine are %+v, foreseen are %+v", s.GetName(), low, engine, want)
			}
		}
	}
	return nil
}

// Load has the engine load a program. Its tables are built from those that the engine has.
func (r *Rig) Load(ctx context.Context, encoded []byte, res *synth.Result) (*controlpb.Loaded, error) {
	var changes []*controlpb.FibChange
	for i, t := range res.Tables {
		var from *fib.Table
		if i < len(r.loaded) {
			from = r.loaded[i]
		}
		if !slices.ContainsFunc(r.loaded, func(o *fib.Table) bool { return o.Hash() == t.Hash() }) {
			changes = append(changes, control.TableChange(from, t))
		}
	}
	loaded, err := r.Engine.LoadTables(ctx, encoded, program.Hash(encoded), changes)
	if err == nil {
		r.loaded = res.Tables
	}
	return loaded, err
}

// Reset forgets what the oracle knows and what was run.
func (r *Rig) Reset() {
	r.Oracle = interp.New(r.Graph, interp.Options{PortOverlapping: r.Cut == PartitionByHash})
	r.watched.now, r.watched.down, r.probes = 0, nil, map[int]uint64{}
	r.History = nil
	r.Stats = tally{Drops: map[string]uint64{}, out: make([]uint64, len(r.Graph.Interfaces))}
}

// Run injects packets at a time, and compares; it returns the frames that left upon each packet. What leaves for a stop comes back, as far as the stop
// lets it, before the next step. An error is a *mismatch, or the engine's end.
func (r *Rig) Run(ctx context.Context, s Step) ([][]draw.Sent, error) {
	r.History = append(r.History, s)
	r.trips = 0
	if err := r.outlast(ctx, s.Now); err != nil {
		return nil, err
	}
	if err := r.move(ctx, s.Moves); err != nil {
		return nil, err
	}
	return r.pass(ctx, s, nil)
}

// pass is Run of packets that may be on their way already: the engine gets these frames then.
func (r *Rig) pass(ctx context.Context, s Step, theirs [][]byte) ([][]draw.Sent, error) {
	seen, ended, err := r.inject(ctx, s, theirs)
	if err != nil {
		return nil, err
	}
	left := make([][]draw.Sent, len(s.Packets))
	away := trip{Step: Step{Now: s.Now}}
	for i, p := range s.Packets {
		for _, o := range seen[i].Out {
			if _, stop := r.stops[o.Interface]; !stop {
				left[i] = append(left[i], draw.Sent{Iface: o.Interface, Frame: o.Frame})
			}
		}
		for _, b := range ended[i] {
			if err := r.Oracle.Evict(s.Now, b); err != nil {
				return nil, &Mismatch{chain: r.Chain, now: s.Now, packet: p, entry: r.Graph.Interfaces[p.Iface].Name, detail: err.Error(), alone: -1}
			}
		}
		if err := r.Compare(ctx, s.Now, i, p, seen[i]); err != nil {
			return nil, err
		}
		if detail := r.astray(p, left[i]); detail != "" {
			return nil, &Mismatch{chain: r.Chain, now: s.Now, packet: p, entry: r.Graph.Interfaces[p.Iface].Name, detail: detail, alone: -1}
		}
		r.leave(&away, i, seen[i].Result)
	}
	if r.holding {
		r.held = &away
		return left, nil
	}
	return left, r.comeBack(ctx, away, left)
}

// Compare has the oracle process packet i of the last step, and compares that with what the engine did.
func (r *Rig) Compare(ctx context.Context, now time.Duration, i int, p draw.Sent, did interp.Seen) error {
	seen := did.Result
	r.last = interp.Result{}
	if r.refused(now, p, seen) {
		return nil
	}
	twoShards, most := r.needsTwoShards(now, p, seen), uint64(0)
	if twoShards {
		most = r.mostMet(now, p)
	}
	want, diff := r.Oracle.ProcessAgainst(now, p.Iface, p.Frame, interp.Seen{Result: r.withoutARP(p, seen), Told: did.Told})
	if len(diff) > 0 && r.answerRefused(twoShards, want, seen) {
		r.Stats.early += most
		want, diff = seen, nil
	}
	if r.Exhausts && slices.ContainsFunc(diff, foundNoPort) && r.shardFull(ctx) {
		diff = slices.DeleteFunc(diff, foundNoPort)
	}
	r.Stats.Packets++
	r.last = want
	for _, o := range want.Out {
		if o.Unresolved {
			return fmt.Errorf("chain %s: the suite lacks a static neighbour %v on %s", r.Chain, o.NextHop, r.name(o))
		}
		r.Stats.out[o.Interface]++
	}
	if early := earlyDiscards(want, seen, diff); early > 0 {
		r.Stats.early += early
		want.Drops, diff = seen.Drops, nil
	} else if r.droppedWithinRun(want) {
		r.Stats.early++
	}
	for _, d := range want.Drops {
		r.Stats.Drops[d.Reason]++
	}
	if len(diff) == 0 {
		return nil
	}
	if r.trips == 0 {
		r.History[len(r.History)-1].Packets = r.History[len(r.History)-1].Packets[:i+1]
	}
	m := &Mismatch{chain: r.Chain, now: now, packet: p, entry: r.Graph.Interfaces[p.Iface].Name, alone: -1}
	for _, d := range diff {
		m.kinds = append(m.kinds, d.Kind)
	}
	m.detail = r.explain(p, want, seen, diff)
	return m
}

// earlyDiscards is how many packets, of one that came with its copies and answers, the oracle drops for want of a binding, a port or a backend,
// where the program does not even look for one, since a later function drops the packet anyway (docs/elements.md, "A packet that is dropped leaves
// no trace in state"). 0: there is another difference, or none.
func earlyDiscards(want, seen interp.Result, diff []interp.Mismatch) (n uint64) {
	if len(diff) != 1 || diff[0].Kind != interp.MismatchDrops || len(want.Drops) != len(seen.Drops) {
		return 0
	}
	rest := slices.Clone(seen.Drops)
	for _, d := range want.Drops {
		i := slices.Index(rest, d)
		switch {
		case i >= 0:
			rest = slices.Delete(rest, i, i+1)
		case d.Reason == element.ReasonNATUnsupported, d.Reason == element.ReasonNATExhausted, ofBalancer(d.Reason), strings.HasSuffix(d.Reason, "/full"), ofLimit(d.Reason):
			n++
		default:
			return 0
		}
	}
	return n
}

// droppedWithinRun tells whether a NAPT that may be of a run drops a packet. The engine drops it where the run begins: what counts between the
// run's NAPTs does not count it.
func (r *Rig) droppedWithinRun(want interp.Result) bool {
	return slices.ContainsFunc(r.Result.Runs, func(run synth.Run) bool { return len(run.Nodes) > 1 }) &&
		slices.ContainsFunc(want.Drops, func(d interp.Drop) bool {
			return d.Reason == element.ReasonNATUnsupported || d.Reason == element.ReasonNATExhausted ||
				strings.HasSuffix(d.Reason, draw.SubscriberLimit)
		})
}

// ofLimit tells whether a reason is that of a subscriber or host which has as much as it may.
func ofLimit(reason string) bool {
	return strings.HasSuffix(reason, draw.SubscriberLimit) || strings.HasSuffix(reason, draw.ConnectionLimit)
}

// ofBalancer tells whether a reason is one for which a balancer finds no session or makes none.
func ofBalancer(reason string) bool {
	_, of, _ := strings.Cut(reason, "/")
	return of == "no-session" || of == "no-backend" || of == "full"
}

// withoutARP takes the engine's answer to an ARP request out, if it is what RFC 826 asks for.
func (r *Rig) withoutARP(p draw.Sent, seen interp.Result) interp.Result {
	if len(seen.Out) != 1 || len(p.Frame) < 14 {
		return seen
	}
	answer, ok := r.arpAnswer(p)
	if !ok || seen.Out[0].Interface != p.Iface || string(answer) != string(seen.Out[0].Frame) {
		return seen
	}
	r.Stats.out[p.Iface]++
	return interp.Result{Drops: seen.Drops}
}

// arpAnswer is the answer to a request for an interface's address or one of its proxy addresses.
func (r *Rig) arpAnswer(p draw.Sent) ([]byte, bool) {
	v, ok := packets.Parse(p.Frame)
	if !ok || v.EtherType != packets.EtherARP {
		return nil, false
	}
	b := p.Frame[14+4*len(v.Tags):]
	if len(v.Tags) > 0 && v.Tags[0].TCI&0xfff == 0 {
		v.Tags = nil // the answer has none
	}
	if len(b) < 28 || binary.BigEndian.Uint16(b[6:]) != packets.ARPRequest {
		return nil, false
	}
	target := packets.Addr(binary.BigEndian.Uint32(b[24:]))
	if f := r.Graph.Interfaces[p.Iface]; target != f.Prefix.Addr() && !slices.Contains(f.Proxy, target) {
		return nil, false
	}
	var sender, mac packets.MAC
	copy(sender[:], b[8:])
	copy(mac[:], r.Graph.Interfaces[p.Iface].MAC)
	return packets.Ethernet(sender, mac, v.Tags, packets.EtherARP, packets.ARP(packets.ARPReply,
		mac, binary.BigEndian.Uint32(b[24:]), sender, binary.BigEndian.Uint32(b[14:])), nil), true
}

// explain is the mismatch in the chain's words.
func (r *Rig) explain(p draw.Sent, want, seen interp.Result, diff []interp.Mismatch) string {
	var s strings.Builder
	for _, d := range diff {
		if d.Kind != interp.MismatchOutput { // those follow, field by field
			fmt.Fprintf(&s, "%s\n", d)
		}
	}
	for i := range max(len(want.Out), len(seen.Out)) {
		switch {
		case i >= len(want.Out):
			fmt.Fprintf(&s, "seen and not expected, by %s:\n%s\n", r.name(seen.Out[i]), packets.Describe(seen.Out[i].Frame))
		case i >= len(seen.Out):
			fmt.Fprintf(&s, "expected and not seen, by %s:\n%s\n", r.name(want.Out[i]), packets.Describe(want.Out[i].Frame))
		default:
			lines := packets.Diff(want.Out[i].Frame, seen.Out[i].Frame)
			if want.Out[i].Interface != seen.Out[i].Interface {
				lines = append(lines, fmt.Sprintf("leaves by: expected %s, seen %s", r.name(want.Out[i]), r.name(seen.Out[i])))
			}
			if len(lines) > 0 {
				fmt.Fprintf(&s, "frame %d:\n  %s\nexpected\n%s\nseen\n%s\n", i, strings.Join(lines, "\n  "),
					packets.Describe(want.Out[i].Frame), packets.Describe(seen.Out[i].Frame))
			}
		}
	}
	if len(want.Out) == 0 && len(want.Drops) > 0 {
		fmt.Fprintf(&s, "expected to be dropped as %v\n", want.Drops)
	}
	if len(seen.Out) == 0 && len(seen.Drops) > 0 {
		fmt.Fprintf(&s, "seen dropped as %v\n", seen.Drops)
	}
	r.way(&s, p)
	return s.String()
}

func (r *Rig) name(o interp.Out) string { return r.Graph.Interfaces[o.Interface].Name }

// way writes the packet's way through the unmerged chain, and the class that the synthesizer puts it in.
func (r *Rig) way(s *strings.Builder, p draw.Sent) {
	s.WriteString("way of the packet through the unmerged chain, without earlier packets:\n")
	first := true
	fresh := interp.New(r.Graph, interp.Options{Trace: func(step interp.Step) {
		fmt.Fprintf(s, "  %s → %d %s\n", step.Node, step.Port, step.Note)
		if !first {
			return
		}
		first = false
		segment := r.Result.Segments[r.Result.Program.GetInterfaces()[p.Iface].GetSegment()]
		if leaf, ok := segment.Match(&step.Packet); ok {
			defer fmt.Fprintf(s, "  (class %d of segment %q: filter %v, %v)\n", leaf.Class, segment.Name, leaf.Filter, segment.Classes[leaf.Class].Legs)
		}
	}})
	fresh.Process(0, p.Iface, p.Frame, nil)
}

// Must runs one packet and gives the only frame that left.
func (r *Rig) Must(t *testing.T, now time.Duration, p draw.Sent) draw.Sent {
	t.Helper()
	left, err := r.Run(t.Context(), Step{Now: now, Packets: []draw.Sent{p}})
	if err != nil {
		t.Fatal(err)
	}
	if len(left[0]) != 1 {
		t.Fatalf("%d frames left, want 1 (drops so far: %v), upon\n%s", len(left[0]), r.Stats.Drops, packets.Describe(p.Frame))
	}
	return left[0][0]
}

// EndsOf are source and destination of a frame.
func EndsOf(t *testing.T, s draw.Sent) [2]netip.AddrPort {
	t.Helper()
	v, ok := packets.Parse(s.Frame)
	if !ok {
		t.Fatal("no frame")
	}
	src, dst := model.Ends(v.IP.Bytes())
	return [2]netip.AddrPort{src, dst}
}

// Started is a chain's rig, with a running engine.
func Started(t *testing.T, g *graph.Graph, workers int, cut string) *Rig {
	t.Helper()
	NeedHarness(t)
	r, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	r.Workers, r.Cut = workers, cut
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Engine.Kill)
	return r
}
