package longest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// ring is a program of n segments that lead round, which a packet may also leave.
func ring(n int) *programpb.Program {
	p := &programpb.Program{Interfaces: []*programpb.Interface{{Name: "in"}}}
	for i := range n {
		p.Segments = append(p.Segments, &programpb.Segment{
			Name: fmt.Sprintf("at r%d/lookup", i),
			Classes: []*programpb.Class{
				{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_Segment{Segment: uint32((i + 1) % n)}}}},
				{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_Drop{}}}},
			},
		})
	}
	return p
}

func TestAChainBeyondTheLongestWayIsRefusedWithTheLookUpsOnIt(t *testing.T) {
	const most = program.MaxWay / rounds
	got, err := Way(ring(most), 0)
	if err != nil || got != program.MaxWay {
		t.Errorf("%d look-ups in a ring: longest way %d, %v; want %d", most, got, err, program.MaxWay)
	}
	_, err = Way(ring(most+1), 0)
	want := fmt.Sprintf("a packet could pass %d look-ups, at most %d are supported: it may go round between \"at r0/lookup\", \"at r1/lookup\", ",
		(most+1)*rounds, program.MaxWay)
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("%d more; change routes", most+1-maxNamed)) {
		t.Errorf("%d look-ups in a ring: %v, want %q…", most+1, err, want)
	}
	if got, err := Way(ring(most+1), 7); err != nil || got != 7 {
		t.Errorf("where nothing goes round: longest way %d, %v; want 7", got, err)
	}
}
