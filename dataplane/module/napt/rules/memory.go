package rules

import (
	"math/bits"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// How a pool lies in memory: dataplane/module/napt/engine/sn_napt_table.c.
const (
	ported        = 3 // protocols with ports, or what replaces them
	portsPerShard = 64
	slotsMost     = 65536
	sharedMost    = (1<<20 - 1) / 16 * 15
	headsLeast    = 64
	headsMost     = 4096
	backHeads     = 1024
	queueBytes    = 16
)

// memory: each port that was ever used keeps its slot.
func memory(t *programpb.StateTable) rule.Memory {
	ports := int64(t.GetPortMax()) - int64(t.GetPortMin()) + 1
	addresses := int64(0)
	for _, r := range t.GetPool() {
		addresses += int64(r.GetLast()) - int64(r.GetFirst()) + 1
	}
	m := rule.Memory{Most: int64(t.GetMaxSessions()), Shards: max(min(int64(1)<<bits.Len64(uint64(ports/portsPerShard))>>1, rule.Shards), 1)}
	addresses = min(addresses, slotsMost)
	slots := (ports-1)/m.Shards + 1
	if t.GetPaired() {
		addresses = min(addresses, max(slotsMost/slots, 1))
	}
	slots *= addresses
	kept := min(slots, slotsMost)
	m.Entries = kept * ported
	heads, slotBytes := int64(0), int64(rule.WordBytes)
	if t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT {
		m.Entries, slotBytes = sharedMost, 4*rule.WordBytes
		for heads = headsLeast; heads < headsMost && heads < slots; heads *= 2 {
		}
	}
	if t.GetMapping() == programpb.Dependence_ADDRESS_DEPENDENT {
		slotBytes = 8 * rule.WordBytes
	}
	if m.Most > 0 {
		m.Entries = min(m.Entries, m.Most)
	}
	m.Buckets = m.Entries
	m.Entries += m.Entries/(8*ported) + 1
	m.Bytes = (backHeads + heads) * rule.WordBytes
	if t.GetPortRestMs() > 0 {
		m.Bytes += ported * kept * rule.WordBytes
	}
	if t.GetPaired() {
		m.Bytes += rule.RoundUp(ported*addresses*queueBytes, rule.EntryBytes)
	}
	m.Rows = ported * rule.RoundUp(kept*slotBytes, rule.RowBytes)
	return m
}
