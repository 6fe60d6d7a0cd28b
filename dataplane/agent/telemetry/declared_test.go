package telemetry

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

// declared is the condition of functions whose ways have these checks.
func declared(t *testing.T, wires ...*controlpb.WireStats) *metav1.Condition {
	t.Helper()
	s := watching(t)
	s.Now.Stats.Wires = wires
	return meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionFunctionsAsDeclared)
}

func TestTheConditionNamesWhatFunctionsChangeAgainstTheirDeclaration(t *testing.T) {
	way := func(returned uint64, changes ...*controlpb.Contradiction) *controlpb.WireStats {
		return &controlpb.WireStats{Out: "ips-inside", Back: "ips-outside", Checked: 100, Returned: returned, Contradictions: changes}
	}
	other := &controlpb.WireStats{Out: "ips-outside", Back: "ips-inside", Checked: 1}
	for name, c := range map[string]struct {
		wires           []*controlpb.WireStats
		status          metav1.ConditionStatus
		reason, message string
	}{
		"nothing has come back": {
			[]*controlpb.WireStats{way(0), other},
			metav1.ConditionUnknown, v1alpha1.ReasonNotChecked, "no packet has come back yet to be compared with what left",
		},
		"all is as declared": {
			[]*controlpb.WireStats{way(9)},
			metav1.ConditionTrue, v1alpha1.ReasonAsDeclared, "packets come back with no other change than declared",
		},
		"one way has no packets": {
			[]*controlpb.WireStats{way(9), other},
			metav1.ConditionTrue, v1alpha1.ReasonAsDeclared, "no packet has come back yet to be compared: ips-outside to ips-inside",
		},
		"a contradiction that is over": {
			[]*controlpb.WireStats{way(9, &controlpb.Contradiction{What: "DSCP", Packets: 3})},
			metav1.ConditionTrue, v1alpha1.ReasonAsDeclared, "packets come back with no other change than declared",
		},
		"contradictions": {
			[]*controlpb.WireStats{
				way(9, &controlpb.Contradiction{What: "SourcePort", Packets: 3, Lately: true}, &controlpb.Contradiction{What: "TTLRaised", Packets: 1, Lately: true}),
				other,
			},
			metav1.ConditionFalse, v1alpha1.ReasonContradicted,
			"ips-inside to ips-outside: ips changes SourcePort, which its behavior.writes does not have; " +
				"ips-inside to ips-outside: ips raises the TTL, which no function may",
		},
		"drops, lengths, order and packets of its own": {
			[]*controlpb.WireStats{way(9,
				&controlpb.Contradiction{What: "Dropped", Packets: 3, Lately: true}, &controlpb.Contradiction{What: "Resized", Packets: 3, Lately: true},
				&controlpb.Contradiction{What: "Originated", Packets: 3, Lately: true}, &controlpb.Contradiction{What: "Reordered", Packets: 3, Lately: true})},
			metav1.ConditionFalse, v1alpha1.ReasonContradicted,
			"ips-inside to ips-outside: ips drops packets, though its behavior.drops is false; " +
				"ips-inside to ips-outside: ips changes the length of packets, though its behavior.resizes is false; " +
				"ips-inside to ips-outside: ips sends packets of its own, though its behavior.originates is false; " +
				"ips-inside to ips-outside: ips gives packets of a flow back in another order, though its behavior.reorders is false",
		},
		"another protocol": {
			[]*controlpb.WireStats{way(9, &controlpb.Contradiction{What: "Protocol", Packets: 3, Lately: true})},
			metav1.ConditionFalse, v1alpha1.ReasonContradicted, "ips-inside to ips-outside: ips changes the protocol, which no function may",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := declared(t, c.wires...)
			if got == nil || got.Status != c.status || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got %v\nwant %s, %s: %q", got, c.status, c.reason, c.message)
			}
		})
	}
}

func TestTheConditionOfDeclarationsComesAndGoesWithFunctions(t *testing.T) {
	before := watching(t).Status(nil).Conditions
	s := watching(t)
	s.Now = nil
	if got := meta.FindStatusCondition(s.Status(before).Conditions, v1alpha1.ConditionFunctionsAsDeclared); got == nil || got.Reason != v1alpha1.ReasonEngineDown {
		t.Errorf("without an engine that answers the condition is %v", got)
	}
	if got := meta.FindStatusCondition(testSeen(t).Status(before).Conditions, v1alpha1.ConditionFunctionsAsDeclared); got != nil {
		t.Errorf("without functions the condition is %v", got)
	}
}
