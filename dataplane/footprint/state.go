package footprint

import (
	"math"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// How state lies in memory: dataplane/engine/state/sn_shard.h, sn_state_table.c. A test compares what comes of it with what the engine says.
const (
	rowEntries  = rule.RowBytes / rule.EntryBytes
	tailPage    = 4 * kib
	tailEntries = tailPage / rule.EntryBytes
	hugePage    = 2 * mib
	wheelSlots  = 256
	buckets0    = rule.RowBytes / rule.WordBytes
	buckets1    = 64 * buckets0
	filled0     = buckets0 / 2 // entries with which the first tier of buckets is full
	filled1     = filled0 + buckets1/2
	shardBytes  = 320 // what a shard has beside entries, at most

	recordsLeast  = 16384
	recordsMost   = 4194304
	recordBytes   = 32 + rule.WordBytes
	unlimitedSize = math.MaxUint32
)

// memoryOf is what a table is laid out by.
func memoryOf(t *programpb.StateTable) rule.Memory { return rule.StateKindOf(t).Memory(t) }

func stateOf(p *programpb.Program) (bytes int64) {
	owners := len(p.GetRuns())
	for _, t := range p.GetTables() {
		bytes += tableOf(t)
		if isOwner(t) {
			owners++
		}
	}
	if owners > 1 {
		bytes += bundlesOf(p)
	}
	return bytes + subscribersOf(p)
}

// isOwner tells whether all entries of a table belong together: those of NAPTs are of runs.
func isOwner(t *programpb.StateTable) bool { return len(t.GetPool()) == 0 }

func subscribersOf(p *programpb.Program) int64 {
	if len(p.GetSubscribers()) == 0 {
		return 0
	}
	sessions, records := int64(0), int64(recordsLeast)
	for _, t := range p.GetTables() {
		if named := rule.StateKindOf(t).Subscribers; named != nil && named(t) > 0 {
			sessions += memoryOf(t).Most
		}
	}
	for _, r := range p.GetRuns() {
		if r.GetSubscribers() == 0 {
			continue
		}
		n := memoryOf(p.GetTables()[r.GetTable()]).Most
		if n == 0 {
			n = unlimitedSize
		}
		sessions += n
	}
	for records < recordsMost && records < sessions {
		records *= 2
	}
	return records * recordBytes
}

// tableOf is what a table takes, at most: rows of all shards stay when sessions of all have ended, and then one shard may have all of them in its tail.
func tableOf(t *programpb.StateTable) int64 {
	m := memoryOf(t)
	most, share := m.Most, m.Entries
	if most > 0 {
		share = most/m.Shards + most/m.Shards/8 + 64
	}
	buckets := int64(buckets0)
	for want := min(m.Buckets, max(share, m.Entries/8)); buckets < want; buckets *= 2 {
	}
	head := min(rule.RoundUp(share, rowEntries), m.Entries)
	first := m.Shards * (shardBytes + rule.RoundUp(m.Bytes, rule.EntryBytes) + (wheelSlots+buckets0)*rule.WordBytes)
	tier1, tier2 := rule.RoundUp(m.Shards*buckets1*rule.WordBytes, hugePage), rule.RoundUp(buckets*rule.WordBytes, tailPage)
	switch {
	case m.Entries <= filled1:
		tier2 = 0
	case most > 0 && buckets > 4*share: // as many shards have them as fill the tiers before
		tier2 = min(most/filled1+1, m.Shards) * tier2
	default:
		tier2 *= m.Shards
	}
	if m.Entries <= filled0 {
		tier1 = 0
	}
	rows := m.Shards * (rule.RoundUp(m.Rows, rule.RowBytes) + rule.RoundUp(head*rule.EntryBytes, rule.RowBytes) + rule.RowBytes)
	tails := m.Shards * rule.RoundUp((m.Entries-head)*rule.EntryBytes, tailPage)
	if most > 0 {
		tails = min(tails, (most/tailEntries+m.Shards)*tailPage)
	}
	return m.Elsewhere + rule.RoundUp(first, hugePage) + tier1 + rule.RoundUp(tier2, hugePage) + rule.RoundUp(rows, hugePage) + hugePage + tails
}
