package walk_test

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// judge is an element that no function has: what it does to a packet, drop or mark it, is known at run time alone. All that
// the synthesizer has to know of it is in this file. It is written as a counter.
type judge struct {
	reads     []headerspace.Field
	forgetful bool // what it does is not done to packets that are dropped later
}

func (judge) Kind() string             { return "judge" }
func (judge) Ports() (in, out int)     { return 1, 1 }
func (j judge) Traits() element.Traits { return element.Traits{Reads: j.reads, Stateful: true} }

func init() { walk.Register(func(j judge) walk.Meaning { return judging{judge: j} }) }

type judging struct {
	walk.Counting
	judge
}

func (j judging) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	marks := map[headerspace.Field]headerspace.Set{headerspace.DSCP: headerspace.Full(headerspace.DSCP)}
	kind := opJudge
	if j.forgetful {
		kind = opGlance
	}
	if err := w.Act(t, at.Node, walk.Op{Kind: kind, Arg: w.Counter(at.Node)}, j.reads, marks); err != nil {
		return err
	}
	return w.Follow(t, at.Node, 0, -1)
}

func writeJudge(_ *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
	says.Ops = append(says.Ops, "judge")
	return &programpb.Op{Op: &programpb.Op_Count{Count: uint32(o.Arg)}}
}

var opJudge = walk.NewOperation(walk.Operation{Write: writeJudge, Verdict: true, Lasting: true})

var opGlance = walk.NewOperation(walk.Operation{Write: writeJudge, Verdict: true})

func TestAnElementThatJudgesPacketsAtRunTime(t *testing.T) {
	src := []headerspace.Field{headerspace.Src}
	expedited := headerspace.Filter{}.With(headerspace.DSCP, headerspace.Of(46))
	byDSCP := element.Classifier{Rules: []element.Rule{{Name: "ef", Filters: []headerspace.Filter{expedited}, Out: 0}}, Default: 1, Outs: 2}
	for name, k := range map[string]struct {
		chain []element.Element
		want  []string
	}{
		"is asked about packets as they are there": {
			[]element.Element{element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)}, judge{reads: src}},
			[]string{"ttl := 7, judge → output b"},
		},
		"is asked about packets that are dropped later": {
			[]element.Element{judge{reads: src}, element.SetField{Field: headerspace.TTL, Value: headerspace.V(7)}, element.Discard{Reason: "later"}},
			[]string{"judge → drop later"},
		},
		"decides what counters behind it count": {
			[]element.Element{element.Counter{}, judge{reads: src}, element.Counter{}},
			[]string{"judge → output b, counted by counter2, counter0"},
		},
		"has packets classified again whose mark is read": {
			[]element.Element{judge{reads: src}, byDSCP}, []string{"judge → classify again at classifier1"},
		},
		"is forgotten where its mark is written over": {
			[]element.Element{judge{reads: src}, element.SetField{Field: headerspace.DSCP, Value: headerspace.V(46)}, byDSCP},
			[]string{"judge, dscp := 46 → output b"},
		},
		"judges once what is copied then": {
			[]element.Element{judge{reads: src}, element.Tee{Outs: 2}}, []string{"judge → classify again at tee1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := testbed.LegsFrom(t, testbed.Row(k.chain...)); !slices.Equal(got, k.want) {
				t.Errorf("classes do %q, want %q", got, k.want)
			}
		})
	}
}

func TestNAPTsStayApartWhereAnElementBetweenThemMustActFirst(t *testing.T) {
	for name, k := range map[string]struct {
		judge judge
		apart bool
	}{
		"it reads the source that the first one chose": {judge{reads: []headerspace.Field{headerspace.Src}, forgetful: true}, true},
		"it reads the destination, which neither does": {judge{reads: []headerspace.Field{headerspace.Dst}, forgetful: true}, false},
		"what it does stays when the second one drops": {judge{reads: []headerspace.Field{headerspace.Dst}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := testbed.LegsFrom(t, testbed.Row(testbed.Masquerade("192.0.2.1"), k.judge, testbed.Masquerade("198.51.100.1")))
			joined := slices.ContainsFunc(r.Runs, func(r walk.Run) bool { return len(r.Nodes) > 1 })
			if joined == k.apart {
				t.Errorf("runs %v: NAPTs apart %t, want %t", r.Runs, !joined, k.apart)
			}
		})
	}
}
