package telemetry

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func TestWhatIsLostIsToldByKindAndNotByName(t *testing.T) {
	const loss = programpb.DropKind_DROP_KIND_LOSS
	for name, c := range map[string]struct {
		drop          *controlpb.DropStats
		dropped, lost uint64
	}{
		"the device is full":               {&controlpb.DropStats{Reason: "tx-full", Kind: loss, Packets: 3}, 3, 3},
		"a chain discards under that name": {&controlpb.DropStats{Reason: "tx-full", Kind: programpb.DropKind_DROP_KIND_DECISION, Packets: 3}, 3, 0},
		"no host may be the source":        {&controlpb.DropStats{Reason: "martian", Kind: programpb.DropKind_DROP_KIND_REFUSAL, Packets: 3}, 3, 0},
		"ARP":                              {&controlpb.DropStats{Reason: "arp", Kind: programpb.DropKind_DROP_KIND_CONSUMED, Packets: 3}, 0, 0},
		"a chain discards as arp":          {&controlpb.DropStats{Reason: "arp", Kind: programpb.DropKind_DROP_KIND_DECISION, Packets: 3}, 3, 0},
	} {
		s := &controlpb.Stats{Drops: []*controlpb.DropStats{c.drop}}
		if all, lost := dropped(s, false), dropped(s, true); all != c.dropped || lost != c.lost {
			t.Errorf("%s: %d dropped, %d lost; want %d, %d", name, all, lost, c.dropped, c.lost)
		}
	}
}
