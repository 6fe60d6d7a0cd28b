package synth_test

import (
	"slices"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/synth/testbed"
)

func TestWhatStandsBehindAMeter(t *testing.T) {
	plain := element.Meter{Rate: 1000, Burst: 12000, Red: element.MeterAction{Drop: "exceeded"}}
	marking, marked := plain, func(dscp uint8) element.MeterAction { return element.MeterAction{Mark: true, DSCP: dscp} }
	marking.ExcessBurst, marking.Yellow = 12000, marked(10)
	perSource := plain
	perSource.Subscribers = element.Subscribers{PrefixLen: 32, Max: 10}
	ask := func(dscps ...uint64) element.Classifier {
		f := headerspace.Filter{}.With(headerspace.DSCP, headerspace.Of(dscps...))
		return element.Classifier{Rules: []element.Rule{{Name: "r", Filters: []headerspace.Filter{f}, Out: 0}}, Default: 1, Outs: 2}
	}
	write := func(dscp uint64) element.SetField {
		return element.SetField{Field: headerspace.DSCP, Value: headerspace.V(dscp)}
	}
	for name, k := range map[string]struct {
		chain []element.Element
		want  []string
	}{
		"a DSCP that it does not write is read at once": {
			[]element.Element{plain, ask(46)},
			[]string{"measure (meter0) → output b", "measure (meter0) → drop end"},
		},
		"a DSCP that it may write is read in a segment of its own": {
			[]element.Element{marking, ask(46)}, []string{"measure (meter0) → classify again at classifier1"},
		},
		"a DSCP that is known before it is one of two": {
			[]element.Element{write(46), marking, ask(46)}, []string{"dscp := 46, measure (meter1) → classify again at classifier2"},
		},
		"rules that both pass are decided at once": {
			[]element.Element{write(46), marking, ask(10, 46)}, []string{"dscp := 46, measure (meter1) → output b"},
		},
		"rules that neither passes are decided at once": {
			[]element.Element{write(46), marking, ask(11, 45)}, []string{"dscp := 46, measure (meter1) → drop end"},
		},
		"a packet that is dropped behind it is measured": {
			[]element.Element{plain, write(3), element.Discard{Reason: "later"}}, []string{"measure (meter0) → drop later"},
		},
		"what is counted behind it may not be": {
			[]element.Element{plain, element.Counter{}}, []string{"measure (meter0) → output b, counted by counter1"},
		},
		"a source that is written before it tells the subscriber": {
			[]element.Element{element.SetField{Field: headerspace.Src, Value: headerspace.Addr(testbed.Masquerade("10.0.0.9").Pool[0])}, perSource},
			[]string{"src := 10.0.0.9, measure (meter1) → output b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := testbed.LegsFrom(t, testbed.Row(k.chain...)); !slices.Equal(got, k.want) {
				t.Errorf("classes do %q, want %q", got, k.want)
			}
		})
	}
}
