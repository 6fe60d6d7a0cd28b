package offload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// boundaries judges packets on and beside the bounds of every rule of the plans.
func (r *recording) boundaries(t *testing.T, name string, d device, plans []*dispatch.Plan) {
	t.Helper()
	t0 := draw.NewTraffic(11, r.Graph, r.Result.Program)
	for i, plan := range plans {
		for _, peeks := range d.peeks {
			n := newNIC(plan.Rules, peeks)
			for k := range plan.Rules {
				for range 1 + 400/(len(plan.Rules)+100) {
					fields := onRule(t0, &plan.Rules[k].Match)
					if peeks {
						fields.Frag = 1 + t0.IntN(2)
					}
					p := draw.Sent{Iface: i, Frame: t0.Build(i, fields)}
					v, err := n.judge(p.Frame)
					if err == nil {
						err = r.right(v, plan, p, !unforwardable(p), nil)
					}
					if err != nil {
						t.Fatalf("%s: entering by %s, of rule %v: %+v: %v\n%s",
							name, r.Graph.Interfaces[i].Name, plan.Rules[k], v.action, err, packets.Describe(p.Frame))
					}
				}
			}
		}
	}
}

func unforwardable(p draw.Sent) bool {
	ip := shotOf(p).IP
	for _, n := range []byte{ip[12], ip[16]} {
		if n == 0 || n == 127 || n >= 224 {
			return true
		}
	}
	return false
}

// onRule draws a packet that meets a rule, at the ends of its ranges often, or misses it by one in one field.
func onRule(t *draw.Traffic, m *dispatch.Match) packets.Fields {
	f := t.Fields(hs.Filter{})
	var asked []hs.Field
	value := func(field hs.Field) (uint32, bool) {
		c := m.Conds[field]
		if c.Any() {
			return 0, false
		}
		asked = append(asked, field)
		if c.Mask == 0 {
			return []uint32{c.Value, c.Last, c.Value + t.Uint32N(c.Last-c.Value+1)}[t.IntN(3)], true
		}
		return c.Value | ^c.Mask&[]uint32{0, ^uint32(0), t.Uint32()}[t.IntN(3)], true
	}
	if v, ok := value(hs.Proto); ok {
		f.Proto = uint8(v)
	}
	if v, ok := value(hs.Src); ok {
		f.Src = v
	}
	if v, ok := value(hs.Dst); ok {
		f.Dst = v
	}
	if v, ok := value(hs.SPort); ok {
		f.Sport = uint16(v)
	}
	if v, ok := value(hs.DPort); ok {
		f.Dport = uint16(v)
	}
	if v, ok := value(hs.TTL); ok {
		f.TTL = uint8(v)
	}
	if v, ok := value(hs.TCPFlags); ok {
		f.Flags = uint8(v)
	}
	if v, ok := value(hs.ICMPType); ok {
		f.Type = uint8(v)
	}
	if v, ok := value(hs.DSCP); ok {
		f.DSCP = uint8(v) & 63
	}
	if v, ok := value(hs.VLAN); ok {
		f.VLAN = draw.VID(uint64(v & 0x1fff))
	}
	if len(asked) > 0 && t.IntN(2) > 0 {
		beside(t, &f, asked[t.IntN(len(asked))])
	}
	return f
}

// beside has a packet miss a match by one of the fields that it asks for.
func beside(t *draw.Traffic, f *packets.Fields, field hs.Field) {
	by := []uint32{1, ^uint32(0)}[t.IntN(2)]
	switch field {
	case hs.Src:
		f.Src += by
	case hs.Dst:
		f.Dst += by
	case hs.SPort:
		f.Sport += uint16(by)
	case hs.DPort:
		f.Dport += uint16(by)
	case hs.Proto:
		f.Proto += uint8(by)
	case hs.TTL:
		f.TTL += uint8(by)
	case hs.TCPFlags:
		f.Flags ^= 1 << t.IntN(8)
	default:
		f.Frag = t.IntN(3)
	}
}

// updates goes from one plan to the next, and has packets judged in between.
func (r *recording) updates(t *testing.T, name string, d device, room int, before, after []*dispatch.Plan) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(5, uint64(len(after[0].Rules))))
	for i := range after {
		caps := d.caps
		caps.Rules = room
		_, installed := dispatch.Update(nil, before[i], &caps, false)
		steps, _ := dispatch.Update(installed, after[i], &caps, false)
		for _, at := range stops(rnd, len(steps)) {
			n := newNIC(apply(t, name, installed, steps[:at], room), false)
			n.ties = rnd.IntN
			for range 300 {
				k := rnd.IntN(len(r.steps))
				j := rnd.IntN(len(r.steps[k].Packets))
				p := r.steps[k].Packets[j]
				if p.Iface != i {
					continue
				}
				v, err := n.judge(p.Frame)
				if err == nil {
					err = r.right(v, after[i], p, r.passes[k][j], &r.results[k][j])
				}
				if err != nil {
					t.Fatalf("%s: after %d of %d steps: %v\n%s", name, at, len(steps), err, packets.Describe(p.Frame))
				}
			}
		}
	}
}

// stops are numbers of steps after which to look.
func stops(r *rand.Rand, n int) []int {
	out := []int{n}
	for range min(n, 12) {
		out = append(out, r.IntN(n))
	}
	return out
}

// apply does an update's steps on a device's rules.
func apply(t *testing.T, name string, installed []dispatch.Rule, steps []dispatch.Step, room int) []dispatch.Rule {
	t.Helper()
	have := map[dispatch.Rule]bool{}
	for _, r := range installed {
		have[r] = true
	}
	for _, s := range steps {
		switch {
		case s.Kind == dispatch.Create && have[s.Rule]:
			t.Fatalf("%s: created twice: %v", name, s.Rule)
		case s.Kind == dispatch.Create:
			have[s.Rule] = true
		case s.Kind == dispatch.Destroy && !have[s.Rule]:
			t.Fatalf("%s: destroyed and not there: %v", name, s.Rule)
		case s.Kind == dispatch.Destroy:
			delete(have, s.Rule)
		}
		if len(have) > room {
			t.Fatalf("%s: %d rules in the middle of an update", name, len(have))
		}
	}
	out := make([]dispatch.Rule, 0, len(have))
	for r := range have {
		out = append(out, r)
	}
	return out
}

// tallyOfShare counts what a device does.
type tallyOfShare struct{ all, dropped, marked int }

func (s *tallyOfShare) add(v verdict, passes bool) {
	if !passes {
		return
	}
	s.all++
	switch {
	case v.action.Kind == dispatch.Drop:
		s.dropped++
	case v.action.Mark != 0:
		s.marked++
	}
}

// note keeps a line for the end of the suite.
func (s *tallyOfShare) note(name string, plans []*dispatch.Plan) {
	var rules []string
	for _, p := range plans {
		rules = append(rules, fmt.Sprint(len(p.Rules)))
	}
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(s.all, 1)) }
	rig.AtEnd(fmt.Sprintf("offload: %-60s %14s rules, %5.1f %% dropped, %5.1f %% marked",
		name, strings.Join(rules, "+"), percent(s.dropped), percent(s.marked)))
}
