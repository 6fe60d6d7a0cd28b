package footprint

import (
	"math"
	"math/bits"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// How state lies in memory: dataplane/engine/state/sn_shard.h, sn_state_table.c. A test compares what comes of it with what the engine says.
const (
	shards      = 128
	entryBytes  = 64
	wordBytes   = 4
	rowBytes    = kib
	rowEntries  = rowBytes / entryBytes
	tailPage    = 4 * kib
	tailEntries = tailPage / entryBytes
	hugePage    = 2 * mib
	wheelSlots  = 256
	buckets0    = rowBytes / wordBytes
	buckets1    = 64 * buckets0
	filled0     = buckets0 / 2 // entries with which the first tier of buckets is full
	filled1     = filled0 + buckets1/2
	shardBytes  = 320 // what a shard has beside entries, at most

	ported = 3 // protocols with ports, or what stands for them

	bundleBytes   = 16 * mib
	recordsLeast  = 16384
	recordsMost   = 4194304
	recordBytes   = 32 + wordBytes
	unlimitedSize = math.MaxUint32
)

// size is what the shards of a table are built from; all have the same.
type size struct {
	shards    int64
	entries   int64 // of a shard
	buckets   int64 // of a shard, at least
	memory    int64 // bytes of a shard that its kind has
	rows      int64 // the same, in rows
	elsewhere int64 // bytes that the table has beside its shards
}

// entriesOf is how many entries a table may have.
func entriesOf(t *programpb.StateTable) int64 {
	switch {
	case t.GetMeter() != nil && t.GetMeter().GetSubscribers() == nil:
		return 1
	case t.GetInspector() != nil && t.GetInspector().GetStreams() == nil:
		return 0
	}
	return int64(t.GetMaxSessions())
}

func stateOf(p *programpb.Program) (bytes int64) {
	owners := len(p.GetRuns())
	for _, t := range p.GetTables() {
		bytes += tableOf(t)
		if len(t.GetPool()) == 0 { // NAPTs' entries are of runs
			owners++
		}
	}
	if owners > 1 {
		bytes += bundleBytes
	}
	return bytes + subscribersOf(p)
}

func subscribersOf(p *programpb.Program) int64 {
	if len(p.GetSubscribers()) == 0 {
		return 0
	}
	sessions, records := int64(0), int64(recordsLeast)
	for _, t := range p.GetTables() {
		if t.GetConnectionLimit() != nil {
			sessions += entriesOf(t)
		}
	}
	for _, r := range p.GetRuns() {
		if r.GetSubscribers() == 0 {
			continue
		}
		n := entriesOf(p.GetTables()[r.GetTable()])
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
	s, most := sizeOf(t), entriesOf(t)
	share := s.entries
	if most > 0 {
		share = most/s.shards + most/s.shards/8 + 64
	}
	buckets := int64(buckets0)
	for want := min(s.buckets, max(share, s.entries/8)); buckets < want; buckets *= 2 {
	}
	head := min(up(share, rowEntries), s.entries)
	first := s.shards * (shardBytes + up(s.memory, entryBytes) + (wheelSlots+buckets0)*wordBytes)
	tier1, tier2 := up(s.shards*buckets1*wordBytes, hugePage), up(buckets*wordBytes, tailPage)
	switch {
	case s.entries <= filled1:
		tier2 = 0
	case most > 0 && buckets > 4*share: // as many shards have them as fill the tiers before
		tier2 = min(most/filled1+1, s.shards) * tier2
	default:
		tier2 *= s.shards
	}
	if s.entries <= filled0 {
		tier1 = 0
	}
	rows := s.shards * (up(s.rows, rowBytes) + up(head*entryBytes, rowBytes) + rowBytes)
	tails := s.shards * up((s.entries-head)*entryBytes, tailPage)
	if most > 0 {
		tails = min(tails, (most/tailEntries+s.shards)*tailPage)
	}
	return s.elsewhere + up(first, hugePage) + tier1 + up(tier2, hugePage) + up(rows, hugePage) + hugePage + tails
}

func up(n, to int64) int64 { return (n + to - 1) / to * to }

func sizeOf(t *programpb.StateTable) size {
	n := entriesOf(t)
	even := min(2*(n/shards)+64, n)
	switch {
	case t.GetTracking() != nil:
		const opening = 8
		ring := up(int64(t.GetTracking().GetMaxHalfOpen()), shards) / shards * opening
		return size{shards: shards, entries: n, buckets: n/8 + 1, memory: ring}
	case t.GetConnectionLimit() != nil: // where the address tells the shard, all may be of one
		return size{shards: shards, entries: n, buckets: n/8 + 1}
	case t.GetBalancer() != nil:
		entries := min(n/8+1024, n)
		return size{shards: shards, entries: entries + 1, buckets: entries/8 + 1}
	case t.GetMeter() != nil: // as above
		return size{shards: shards, entries: n, buckets: max(even, n/8+1)}
	case t.GetInspector() != nil:
		return inspectorSize(t.GetInspector(), n)
	}
	return naptSize(t, n)
}

// inspectorSize: dataplane/module/inspect/engine.
func inspectorSize(i *programpb.Inspector, n int64) size {
	const (
		workers    = 64
		countsMore = 32
		head       = 16
	)
	rules := int64(len(i.GetRules()))
	s := size{shards: shards, entries: 1, buckets: 1, elsewhere: workers * (rules + countsMore) * 8}
	if streams := i.GetStreams(); streams != nil {
		depth := int64(streams.GetDepth())
		s.entries, s.buckets = n, n/8+1
		s.elsewhere += int64(streams.GetMax()) * up(head+up(rules, 64)/8+up(depth, 64)/8+depth, entryBytes)
	}
	return s
}

// naptSize: dataplane/module/napt/engine/sn_napt_table.c. Each port that was ever used keeps its slot.
func naptSize(t *programpb.StateTable, n int64) size {
	const (
		portsPerShard = 64
		slotsMost     = 65536
		sharedMost    = (1<<20 - 1) / 16 * 15
		headsLeast    = 64
		headsMost     = 4096
		backHeads     = 1024
		queueBytes    = 16
	)
	ports := int64(t.GetPortMax()) - int64(t.GetPortMin()) + 1
	addresses := int64(0)
	for _, r := range t.GetPool() {
		addresses += int64(r.GetLast()) - int64(r.GetFirst()) + 1
	}
	s := size{shards: max(min(int64(1)<<bits.Len64(uint64(ports/portsPerShard))>>1, shards), 1)}
	addresses = min(addresses, slotsMost)
	slots := (ports-1)/s.shards + 1
	if t.GetPaired() {
		addresses = min(addresses, max(slotsMost/slots, 1))
	}
	slots *= addresses
	kept := min(slots, slotsMost)
	s.entries = kept * ported
	heads, slotBytes := int64(0), int64(wordBytes)
	if t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT {
		s.entries, slotBytes = sharedMost, 4*wordBytes
		for heads = headsLeast; heads < headsMost && heads < slots; heads *= 2 {
		}
	}
	if t.GetMapping() == programpb.Dependence_ADDRESS_DEPENDENT {
		slotBytes = 8 * wordBytes
	}
	if n > 0 {
		s.entries = min(s.entries, n)
	}
	s.buckets = s.entries
	s.entries += s.entries/(8*ported) + 1
	s.memory = (backHeads + heads) * wordBytes
	if t.GetPortRestMs() > 0 {
		s.memory += ported * kept * wordBytes
	}
	if t.GetPaired() {
		s.memory += up(ported*addresses*queueBytes, entryBytes)
	}
	s.rows = ported * up(kept*slotBytes, rowBytes)
	return s
}
