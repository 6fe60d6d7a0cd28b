package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// chosen are the engine's reasons under which packets go as the chain or their sender has it, and what is no drop.
var chosen = []string{
	"none", "arp",
	"truncated", "other-host", "vlan-stacked", "not-ip", "ipv6", "malformed", "bad-checksum", "martian", "local",
	"icmp-suppressed", "icmp-rate", "too-big", "too-big-answered", "vlan-unknown",
	"own-source", "pool-source", "broadcast-source", "directed-broadcast", "source-route", "reverse-path",
	"nat-unsupported", "nat-fragment", "nat-no-binding",
}

func TestEachReasonOfTheEngineIsALossOrIsNot(t *testing.T) {
	for _, name := range programpb.DropReason_name {
		reason := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "DROP_")), "_", "-")
		lost := dropped(&programpb.Stats{Drops: []*programpb.DropStats{{Reason: reason, Packets: 3}}}, true) == 3
		if lost == slices.Contains(chosen, reason) {
			t.Errorf("%s: packets are lost: %t; want that it is said, here or in lossReasons", reason, lost)
		}
	}
}
