package offload

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	"github.com/sinter-nfv/sinter/dataplane/graph"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/model"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// capacities are the rules that the devices of these tests have room for.
var capacities = []int{0, 16, 512, 4096, dispatch.Unlimited}

// device is a kind of device, and how it treats what it does not promise.
type device struct {
	name  string
	caps  dispatch.Capabilities
	peeks []bool
}

func fieldsBy(how dispatch.How) (f [hs.NumFields]dispatch.How) {
	for i := range f {
		f[i] = how
	}
	return f
}

// devices differ in what they match and in what they know of fragments.
var devices = []device{
	{"any bits", dispatch.Capabilities{
		Priorities: 1 << 16, Fields: fieldsBy(dispatch.Masked), Untagged: true, DstMAC: true, Fragments: dispatch.FragmentsTold,
		Drop: true, Count: true, Queue: true, MarkBits: 24, Queues: 8,
	}, []bool{false, true}},
	{"ranges, blind to TTL", dispatch.Capabilities{
		Priorities: 1 << 16, Fields: blind(fieldsBy(dispatch.Ranged), hs.TTL), Untagged: true, Fragments: dispatch.FragmentsTold,
		Drop: true, MarkBits: 32,
	}, []bool{false, true}},
	{"prefixes and whole ports", dispatch.Capabilities{
		Priorities: 1 << 16, Fields: [hs.NumFields]dispatch.How{
			hs.Src: dispatch.Prefix, hs.Dst: dispatch.Prefix, hs.Proto: dispatch.Exact, hs.SPort: dispatch.Exact, hs.DPort: dispatch.Exact,
		},
		Fragments: dispatch.FragmentsPortless, Drop: true, Count: true, MarkBits: 24,
	}, []bool{false}},
	{"without order", dispatch.Capabilities{
		Fields: fieldsBy(dispatch.Masked), Untagged: true, Fragments: dispatch.FragmentsUnknown, Drop: true, Count: true, MarkBits: 24,
	}, []bool{false, true}},
	{"few levels", dispatch.Capabilities{
		Priorities: 8, Fields: fieldsBy(dispatch.Masked), Untagged: true, Fragments: dispatch.FragmentsUnknown,
		Drop: true, Count: true, MarkBits: 24,
	}, []bool{false, true}},
}

func blind(f [hs.NumFields]dispatch.How, to ...hs.Field) [hs.NumFields]dispatch.How {
	for _, field := range to {
		f[field] = dispatch.Never
	}
	return f
}

// TestRulePlansLeaveThePacketsOfTheSamplesAsTheyAre offloads the chains that users copy from.
func TestRulePlansLeaveThePacketsOfTheSamplesAsTheyAre(t *testing.T) {
	rig.EachSample(t, func(t *testing.T, g *graph.Graph) { offload(t, g, rig.Scale(20_000, 2_000)) })
}

// TestRulePlansLeaveThePacketsOfClassBenchAsTheyAre has a firewall with each rule set, a router and a NAPT.
func TestRulePlansLeaveThePacketsOfClassBenchAsTheyAre(t *testing.T) {
	rig.EachRuleSet(t, func(t *testing.T, g *graph.Graph) { offload(t, g, rig.Scale(12_000, 2_000)) })
}

// recording is what a chain did with packets, engine and oracle of one mind.
type recording struct {
	*rig.Rig
	steps   []rig.Step
	results [][]interp.Seen
	passes  [][]bool // the packet got past the interface's checks
	classes map[uint32][]uint64
}

func offload(t *testing.T, g *graph.Graph, n int) {
	t.Parallel()
	rig.Engines <- struct{}{}
	defer func() { <-rig.Engines }()
	r, err := rig.New(g)
	if err != nil {
		t.Fatal(err)
	}
	r.Workers = 1 // with several, which ports a NAPT chooses depends on what else there is
	rec := &recording{Rig: r}
	if err := rec.record(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	large := false
	for _, s := range r.Result.Program.GetSegments() {
		large = large || len(s.GetTable().GetClasses()) > 4000
	}
	for i, d := range devices {
		rec.device(t, d, rooms(large, i == 0))
	}
	rec.steered(t, false)
	rec.steered(t, true)
}

// rooms are the capacities that a device has. Plans of many thousand rules take seconds each: other devices than the first have fewer
// of them.
func rooms(large, first bool) []int {
	switch {
	case large && testing.Short() && !first:
		return []int{512}
	case large && (testing.Short() || !first):
		return []int{512, dispatch.Unlimited}
	default:
		return capacities
	}
}

// device has one kind of device run plans for different room.
func (r *recording) device(t *testing.T, d device, rooms []int) {
	var before []*dispatch.Plan
	for _, room := range rooms {
		name := fmt.Sprintf("%s, %s, room for %s", r.Chain, d.name, roomName(room))
		plans := r.plans(t, name, d, room, nil)
		for _, peeks := range d.peeks {
			r.check(t, name, plans, peeks)
		}
		r.boundaries(t, name, d, plans)
		if d.name == devices[0].name || room == dispatch.Unlimited {
			r.rerun(t, name, plans)
		}
		if before != nil {
			r.updates(t, name, d, room, before, plans)
		}
		before = plans
	}
}

// steered has rules send packets to queues as well: what comes from inside by the host's address, what returns by the port that a
// NAPT gave it.
func (r *recording) steered(t *testing.T, jump bool) {
	t.Helper()
	d := devices[0]
	d.caps.Jump = jump
	queues := make([]uint16, 128)
	for s := range queues {
		queues[s] = []uint16{0, 0, 1, 3, 3, 3, 3, 2}[s/16]
	}
	queues[77] = 2
	name := fmt.Sprintf("%s, with queues, jump %v", r.Chain, jump)
	plans := r.plans(t, name, d, 4096, queues)
	r.check(t, name, plans, false)
	seen := map[uint16]bool{}
	for i, n := range nicsOf(plans, false) {
		if r.Graph.Interfaces[i].Wire {
			continue // it has no rules
		}
		inside, back := sides(r.Result.Program, i)
		for j, s := range r.steps {
			for k, p := range s.Packets {
				v, _ := n.judge(p.Frame)
				if isOdd(p) || p.Iface != i || !r.passes[j][k] || v.action.Kind == dispatch.Drop || shotOf(p).Frag() != 0 {
					continue
				}
				shot, want := shotOf(p), -1
				switch port := shot.Field(programpb.Field_DPORT); {
				case inPools(back, shot.Field(programpb.Field_DST)):
					if port < 65536 {
						want = int(queues[port%128])
					}
				case inside:
					want = int(queues[shot.Field(programpb.Field_SRC)%128])
				}
				if want >= 0 && (v.action.Kind != dispatch.ToQueue || int(v.action.Queue) != want) {
					t.Fatalf("%s: entering by %s: want queue %d, got %+v\n%s",
						name, r.Graph.Interfaces[i].Name, want, v.action, packets.Describe(p.Frame))
				}
				seen[v.action.Queue] = seen[v.action.Queue] || want >= 0
			}
		}
	}
	if len(seen) < 4 && len(r.Result.Program.GetTables()) > 0 {
		t.Fatalf("%s: only queues %v got packets", name, seen)
	}
}

// sides tells whether flows start at an interface, and the state tables that packets which enter by it are looked up in first.
func sides(p *programpb.Program, iface int) (inside bool, back []*programpb.StateTable) {
	for _, c := range p.GetSegments()[p.GetInterfaces()[iface].GetSegment()].GetClasses() {
		for _, l := range c.GetLegs() {
			forth := slices.ContainsFunc(l.GetOps(), func(o *programpb.Op) bool {
				_, ok := o.GetOp().(*programpb.Op_StateForward)
				return ok
			})
			inside = inside || forth
			if o, ok := l.GetOutcome().(*programpb.Leg_StateReturn); ok && !forth {
				back = append(back, p.GetTables()[o.StateReturn])
			}
		}
	}
	return inside, back
}

func inPools(tables []*programpb.StateTable, a uint32) bool {
	for _, t := range tables {
		for _, r := range t.GetPool() {
			if r.GetFirst() <= a && a <= r.GetLast() {
				return true
			}
		}
	}
	return false
}

func roomName(room int) string {
	if room == dispatch.Unlimited {
		return "all rules"
	}
	return fmt.Sprint(room, " rules")
}

// record runs random packets and some of every rule of the chain.
func (r *recording) record(ctx context.Context, n int) error {
	if err := r.Start(ctx); err != nil {
		return err
	}
	defer r.Engine.Kill()
	t := draw.NewTraffic(7, r.Graph, r.Result.Program)
	now, rule, entry := time.Second, 0, rig.Gate(r.Graph)
	for r.Stats.Packets < n || rule < t.Rules {
		now += rig.Pause(t.Rand)
		s := rig.Step{Now: now}
		for range rig.Batch {
			p := t.Next()
			if t.IntN(2) == 0 && rule < t.Rules {
				iface := t.IntN(len(r.Graph.Interfaces))
				p = draw.Sent{Iface: iface, Frame: t.Build(iface, t.Fields(t.Filters[rule]))}
				rule++
			}
			s.Packets = append(s.Packets, p)
		}
		seen, _, err := r.Inject(ctx, s)
		if err != nil {
			return err
		}
		passes := make([]bool, len(s.Packets))
		r.History = append(r.History, s)
		for i, p := range s.Packets {
			if err := r.Compare(ctx, now, i, p, seen[i]); err != nil {
				return err
			}
			var left []draw.Sent
			for _, o := range seen[i].Out {
				left = append(left, draw.Sent{Iface: o.Interface, Frame: o.Frame})
			}
			t.Saw(p, left)
			drops := entry.Process(now, p.Iface, p.Frame, nil).Drops
			passes[i] = len(drops) == 1 && drops[0].Reason == rig.Passed
		}
		r.steps, r.results, r.passes = append(r.steps, s), append(r.results, seen), append(r.passes, passes)
	}
	stats, err := r.Engine.Stats(ctx)
	if err != nil {
		return err
	}
	r.classes = classCounts(r.Result.Program, stats)
	r.Count(nil)
	return r.Engine.Stop()
}

func classCounts(p *programpb.Program, stats *controlpb.Stats) map[uint32][]uint64 {
	out := map[uint32][]uint64{}
	for i, s := range p.GetSegments() {
		out[uint32(i)] = make([]uint64, len(s.GetClasses()))
	}
	for _, c := range stats.GetClasses() {
		out[c.GetSegment()][c.GetClass()] += c.GetPackets()
	}
	return out
}

// plans makes a plan for each interface, with as much room each, and with a queue for each shard if they are given.
func (r *recording) plans(t *testing.T, name string, d device, room int, queues []uint16) []*dispatch.Plan {
	t.Helper()
	var out []*dispatch.Plan
	for i, f := range r.Result.Program.GetInterfaces() {
		caps := d.caps
		caps.Rules = room
		in := &dispatch.Input{
			Program: r.Result.Program, Interface: uint32(i), Capabilities: caps, Weights: r.classes[f.GetSegment()], Generation: 3,
			Shards: dispatch.Shards{Dispatcher: dispatch.Flow, Bits: 7},
		}
		if queues != nil {
			in.Groups = []dispatch.Group{{Queues: queues}}
		}
		plan, err := dispatch.MakePlan(in)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, f.GetName(), err)
		}
		if len(plan.Rules) > room {
			t.Fatalf("%s: %s: %d rules", name, f.GetName(), len(plan.Rules))
		}
		out = append(out, plan)
	}
	return out
}

// check has the device judge every recorded packet: what it drops, the chain dropped for the same reason, and what it marks is of
// the class that it says.
func (r *recording) check(t *testing.T, name string, plans []*dispatch.Plan, peeks bool) {
	t.Helper()
	nics := nicsOf(plans, peeks)
	var share tallyOfShare
	for i, s := range r.steps {
		for j, p := range s.Packets {
			if peeks && r.passes[i][j] && shotOf(p).Frag() == 0 {
				continue // it is the same as without
			}
			v, err := nics[p.Iface].judge(p.Frame)
			if err == nil {
				err = r.right(v, plans[p.Iface], p, r.passes[i][j], &r.results[i][j])
			}
			if err != nil {
				t.Fatalf("%s: entering by %s: %v → %+v: %v\n%s",
					name, r.Graph.Interfaces[p.Iface].Name, v.matched, v.action, err, packets.Describe(p.Frame))
			}
			share.add(v, r.passes[i][j])
		}
	}
	if !peeks {
		share.note(name, plans)
	}
}

func nicsOf(plans []*dispatch.Plan, peeks bool) (out []*nic) {
	for _, p := range plans {
		out = append(out, newNIC(p.Rules, peeks))
	}
	return out
}

// right tells whether a verdict leaves the packet as the chain has it. result is nil if it is not known.
func (r *recording) right(v verdict, plan *dispatch.Plan, p draw.Sent, passes bool, result *interp.Seen) error {
	if isOdd(p) {
		return nil // devices may read ports of a header that no host would take (docs/dispatch.md)
	}
	drop := v.action.Kind == dispatch.Drop
	if drop && result != nil && (len(result.Out) > 0 || len(result.Drops) != 1) {
		return fmt.Errorf("the chain did not just drop it: %+v", result.Drops)
	}
	if !passes {
		return nil // refused, whatever the device says
	}
	segment, class := r.classOf(p)
	legs := segment.GetClasses()[class].GetLegs()
	if drop {
		d, ok := legs[0].GetOutcome().(*programpb.Leg_Drop)
		switch {
		case !ok || len(legs) != 1:
			return fmt.Errorf("dropped, but class %d does not drop", class)
		case plan.Count && class != v.action.Class:
			return fmt.Errorf("dropped and counted as class %d, but it is of class %d", v.action.Class, class)
		case !plan.Count && len(legs[0].GetCounters()) > 0:
			return fmt.Errorf("dropped, but class %d has counters, and the device has none", class)
		case result != nil && plan.Count && result.Drops[0].Reason != r.reason(d.Drop):
			return fmt.Errorf("dropped as %q, the chain dropped it as %q", r.reason(d.Drop), result.Drops[0].Reason)
		}
		return nil
	}
	if marked, ok := plan.Marks.Class(v.action.Mark); ok && r.believes(segment, p) && marked != class {
		return fmt.Errorf("marked as class %d, but it is of class %d", marked, class)
	}
	return nil
}

// believes tells whether software takes a mark's word on the packet.
func (r *recording) believes(s *programpb.Segment, p draw.Sent) bool {
	shot := shotOf(p)
	return shot.Frag() == 0 && uint32(shot.IP[8]) >= s.GetTtlFloor() && !isOdd(p)
}

// isOdd tells whether a packet of TCP, UDP or ICMP has a header that no host would take.
func isOdd(p draw.Sent) bool {
	v, ok := packets.Parse(p.Frame)
	if !ok || len(p.Frame) < 34+4*len(v.Tags) || p.Frame[14+4*len(v.Tags)]>>4 != 4 {
		return false
	}
	s := shotOf(p)
	switch s.IP[9] {
	case packets.ProtoTCP, packets.ProtoUDP, packets.ProtoICMP:
		total := int(binary.BigEndian.Uint16(s.IP[2:]))
		header := int(s.IP[0]&15) * 4
		return s.Frag() != 2 && header >= 20 && total >= header && total <= len(s.IP) && !model.Headed(s.IP[:total])
	}
	return false
}

func shotOf(p draw.Sent) *model.Shot {
	v, _ := packets.Parse(p.Frame)
	s := &model.Shot{Entry: p.Iface, IP: p.Frame[14+4*len(v.Tags):]}
	if total := int(binary.BigEndian.Uint16(s.IP[2:])); total >= int(s.IP[0]&15)*4 && total <= len(s.IP) {
		s.IP = s.IP[:total] // what lies behind is padding
	}
	if len(v.Tags) > 0 {
		s.Tag(v.Tags[0])
	}
	return s
}

// classOf is the class of a packet in its interface's segment, as program.proto says.
func (r *recording) classOf(p draw.Sent) (*programpb.Segment, uint32) {
	seg := r.Result.Program.GetSegments()[r.Result.Program.GetInterfaces()[p.Iface].GetSegment()]
	s := shotOf(p)
	table := seg.GetTable()
	if uint32(s.IP[8]) < seg.GetTtlFloor() || seg.GetWholeOnly() && s.Frag() != 0 {
		table = seg.GetLow()
	}
	return seg, s.Class(table)
}

func (r *recording) reason(d *programpb.Drop) string {
	if c, ok := d.GetReason().(*programpb.Drop_Chain); ok {
		return r.Result.Program.GetReasons()[c.Chain]
	}
	return model.ReasonName(d.GetBuiltin())
}

// rerun gives the engine what the device has not dropped: it does with it what it did before, and counts its classes as the marks say.
func (r *recording) rerun(t *testing.T, name string, plans []*dispatch.Plan) {
	t.Helper()
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Engine.Kill()
	nics := nicsOf(plans, false)
	want, answered := map[uint32][]uint64{}, 0
	for i, s := range r.Result.Program.GetSegments() {
		want[uint32(i)] = make([]uint64, len(s.GetClasses()))
	}
	for i, s := range r.steps {
		rest := rig.Step{Now: s.Now}
		var results []interp.Seen
		for j, p := range s.Packets {
			v, _ := nics[p.Iface].judge(p.Frame)
			if v.action.Kind == dispatch.Drop {
				continue
			}
			rest.Packets = append(rest.Packets, p)
			results = append(results, r.results[i][j])
			if slices.Contains(r.results[i][j].Drops, interp.Drop{Reason: "too-big-answered"}) {
				answered++
			}
			if r.passes[i][j] {
				seg, class := r.classOf(p)
				if marked, ok := plans[p.Iface].Marks.Class(v.action.Mark); ok && r.believes(seg, p) {
					class = marked
				}
				want[r.Result.Program.GetInterfaces()[p.Iface].GetSegment()][class]++
			}
		}
		seen, _, err := r.Inject(t.Context(), rest)
		if err != nil {
			t.Fatal(err)
		}
		for j := range seen {
			if !reflect.DeepEqual(r.Untagged(seen[j]), r.Untagged(results[j])) {
				t.Fatalf("%s: without what the device drops, the engine does something else with\n%s\nbefore: %+v\nnow: %+v",
					name, packets.Describe(rest.Packets[j].Frame), results[j], seen[j])
			}
		}
	}
	r.compareClasses(t, name, want, answered)
	if err := r.Engine.Stop(); err != nil {
		t.Fatal(err)
	}
}

// compareClasses tells whether classes were counted as wanted, but for so many answers that enter like packets.
func (r *recording) compareClasses(t *testing.T, name string, want map[uint32][]uint64, answered int) {
	t.Helper()
	stats, err := r.Engine.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := classCounts(r.Result.Program, stats)
	more := 0
	for _, f := range r.Result.Program.GetInterfaces() {
		s := f.GetSegment()
		if enteredFromWithin(r.Result.Program, s) {
			continue
		}
		for c := range got[s] {
			if got[s][c] < want[s][c] {
				t.Fatalf("%s: packets of class %d of segment %d: expected %d, seen %d", name, c, s, want[s][c], got[s][c])
			}
			more += int(got[s][c] - want[s][c])
		}
		for c := range want[s] {
			want[s][c] = got[s][c] // an interface may share the segment
		}
	}
	if more > answered {
		t.Fatalf("%s: %d packets too many in the classes, with %d answers about the MTU, which enter like packets", name, more, answered)
	}
}

// enteredFromWithin tells whether packets come to a segment otherwise than by an interface.
func enteredFromWithin(p *programpb.Program, segment uint32) bool {
	for _, r := range p.GetRuns() {
		if r.GetSegment() == segment {
			return true
		}
	}
	for _, g := range p.GetGenerators() {
		if g.GetSegment() == segment {
			return true
		}
	}
	for _, s := range p.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				if o, ok := l.GetOutcome().(*programpb.Leg_Segment); ok && o.Segment == segment {
					return true
				}
			}
		}
	}
	return false
}
