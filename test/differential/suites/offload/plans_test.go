package offload

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestRulePlansAgreeWithThePrograms needs no engine: random plans of random chains for random devices, against the classes that
// the programs give the packets.
func TestRulePlansAgreeWithThePrograms(t *testing.T) {
	for _, shape := range draw.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := draw.Chain(rt, shape)
				r, err := rig.New(g)
				if err != nil {
					rt.Fatalf("%v\n%s", err, rig.Dump(g))
				}
				rec := &recording{Rig: r}
				traffic, entry := draw.NewTraffic(rapid.Uint64().Draw(rt, "traffic seed"), g, r.Result.Program), rig.Gate(g)
				var sample []draw.Sent
				for range rig.Scale(1_000, 300) {
					p := traffic.Next()
					if drops := entry.Process(time.Second, p.Iface, p.Frame, nil).Drops; len(drops) == 1 && drops[0].Reason == rig.Passed {
						sample = append(sample, p)
					}
				}
				for range 4 {
					rec.agree(rt, drawDevice(rt), traffic, sample)
				}
			})
		})
	}
}

// TestUpdatesAreRightAfterEveryStepAlsoWhenTheProgramChanges goes from a random chain's plan to another's: up to the swap the device does
// as the old program wants, from then on as the new one does.
func TestUpdatesAreRightAfterEveryStepAlsoWhenTheProgramChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDevice(rt)
		var recs [2]*recording
		var plans [2]*dispatch.Plan
		var samples [2][]draw.Sent
		for i := range recs {
			r, err := rig.New(draw.Chain(rt, draw.Shapes[0]))
			if err != nil {
				rt.Fatal(err)
			}
			recs[i] = &recording{Rig: r}
			plans[i], err = dispatch.MakePlan(&dispatch.Input{Program: r.Result.Program, Capabilities: d.caps, Generation: uint32(i)})
			if err != nil {
				rt.Fatal(err)
			}
			samples[i] = forwardable(draw.NewTraffic(rapid.Uint64().Draw(rt, "traffic seed"), r.Graph, r.Result.Program), plans)
		}
		_, installed := dispatch.Update(nil, plans[0], &d.caps, false)
		steps, _ := dispatch.Update(installed, plans[1], &d.caps, true)
		now := 0
		have := slices.Clone(installed)
		for i, s := range steps {
			switch s.Kind {
			case dispatch.Swap:
				now = 1
			case dispatch.Create:
				have = append(have, s.Rule)
			case dispatch.Destroy:
				have = slices.DeleteFunc(have, func(r dispatch.Rule) bool { return r == s.Rule })
			}
			if s.Kind != dispatch.Swap && len(steps) > 40 && rapid.IntRange(0, len(steps)/40).Draw(rt, "look") > 0 {
				continue
			}
			n := newNIC(have, d.peeks[0])
			n.ties = func(n int) int { return i % n }
			for _, p := range samples[now] {
				v, err := n.judge(p.Frame)
				if err == nil {
					err = recs[now].right(v, plans[now], p, true, nil)
				}
				if err != nil {
					rt.Fatalf("after step %d of %d, %v, by program %d: %+v: %v\n%s", i+1, len(steps), s, now, v.action, err, packets.Describe(p.Frame))
				}
			}
		}
	})
}

// forwardable draws packets that enter by the first interface, of the plans' rules among others.
func forwardable(t *draw.Traffic, plans [2]*dispatch.Plan) (out []draw.Sent) {
	for len(out) < 150 {
		p := draw.Sent{Iface: 0, Frame: t.Build(0, t.Fields(t.Filters[t.IntN(len(t.Filters))]))}
		if plan := plans[t.IntN(2)]; plan != nil && len(plan.Rules) > 0 && t.IntN(2) == 0 {
			p.Frame = t.Build(0, onRule(t, &plan.Rules[t.IntN(len(plan.Rules))].Match))
		}
		if !unforwardable(p) {
			out = append(out, p)
		}
	}
	return out
}

// agree plans for every interface of a chain, and judges packets.
func (r *recording) agree(t *rapid.T, d device, traffic *draw.Traffic, sample []draw.Sent) {
	for i, f := range r.Result.Program.GetInterfaces() {
		in := &dispatch.Input{
			Program: r.Result.Program, Interface: uint32(i), Capabilities: d.caps, Shards: dispatch.Shards{Dispatcher: dispatch.Flow, Bits: 2},
			Generation: rapid.Uint32().Draw(t, "generation"),
		}
		if rapid.Bool().Draw(t, "weights are measured") {
			in.Weights = rapid.SliceOfN(rapid.Uint64Range(0, 1000), 40, 40).Draw(t, "weights")
		}
		if d.caps.Queue && rapid.Bool().Draw(t, "several queues") {
			in.Groups = []dispatch.Group{{Queues: rapid.SliceOfN(rapid.Uint16Range(0, 2), 4, 4).Draw(t, "queues")}}
		}
		plan, err := dispatch.MakePlan(in)
		if err != nil {
			continue // the device cannot send packets to these queues
		}
		if len(plan.Rules) > d.caps.Rules {
			t.Fatalf("%d rules, the device has room for %d", len(plan.Rules), d.caps.Rules)
		}
		n := newNIC(plan.Rules, d.peeks[0])
		mine := []draw.Sent{}
		for k := range min(len(plan.Rules), 300) {
			if p := (draw.Sent{Iface: i, Frame: traffic.Build(i, onRule(traffic, &plan.Rules[k].Match))}); !unforwardable(p) {
				mine = append(mine, p)
			}
		}
		for _, p := range sample {
			if p.Iface == i {
				mine = append(mine, p)
			}
		}
		for _, p := range mine {
			v, err := n.judge(p.Frame)
			if err == nil {
				err = r.right(v, plan, p, true, nil)
			}
			if err != nil {
				t.Fatalf("entering by %s: %+v: %v\n%s\n%+v\n%s", f.GetName(), v.action, err, packets.Describe(p.Frame), d, rig.Dump(r.Graph))
			}
		}
	}
}

func drawDevice(t *rapid.T) device {
	flip := func(what string) bool { return rapid.Bool().Draw(t, what) }
	c := dispatch.Capabilities{
		Rules:      rapid.SampledFrom([]int{3, 20, 300, dispatch.Unlimited}).Draw(t, "room"),
		Priorities: rapid.SampledFrom([]int{0, 4, 8, 32, 1 << 16}).Draw(t, "priorities"),
		Untagged:   flip("untagged"),
		Fragments:  rapid.SampledFrom([]dispatch.Fragments{dispatch.FragmentsUnknown, dispatch.FragmentsPortless, dispatch.FragmentsTold}).Draw(t, "fragments"),
		Drop:       flip("drop"), Count: flip("count"), Queue: flip("queue"), Jump: flip("jump"), Queues: 8,
		MarkBits: rapid.SampledFrom([]int{0, 6, 24, 32}).Draw(t, "mark bits"),
	}
	ways := []dispatch.How{dispatch.Never, dispatch.Exact, dispatch.Prefix, dispatch.Masked, dispatch.Ranged}
	same := rapid.SampledFrom(ways[1:]).Draw(t, "matching")
	for f := range c.Fields {
		c.Fields[f] = same
		if rapid.IntRange(0, 4).Draw(t, "another way of "+hs.Field(f).String()) == 0 {
			c.Fields[f] = rapid.SampledFrom(ways).Draw(t, "way")
		}
	}
	return device{caps: c, peeks: []bool{c.Fragments != dispatch.FragmentsPortless && flip("peeks")}}
}
