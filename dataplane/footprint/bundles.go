package footprint

import (
	"cmp"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// How bundles lie in memory: dataplane/engine/state/sn_bundles.c.
const (
	bundlesLeast = 65536
	bundlesMost  = 2097152
	headsMost    = 16384 // of a shard
	bundleRow    = 16    // bundles of a shard that lie together
	inALine      = 7     // entries of a bundle
)

// bundlesOf is what bundles take, at most: there is one for each flow that may have entries of two owners.
func bundlesOf(p *programpb.Program) int64 {
	rooms := bundledRooms(p)
	flows, line := int64(bundlesLeast), int64(rule.EntryBytes)
	if len(rooms) >= 2 {
		flows = min(max(flows, rooms[1]), bundlesMost)
	}
	if len(rooms) > inALine {
		line *= 2
	}
	most, heads := flows/rule.Shards+flows/rule.Shards/8+64, int64(64)
	for heads < most && heads < headsMost {
		heads *= 2
	}
	return rule.RoundUp(rule.Shards*heads*rule.WordBytes, hugePage) + rule.RoundUp(rule.Shards*rule.RoundUp(most, bundleRow)*line, hugePage)
}

// bundledRooms is how many entries each owner may have whose entries can be in bundles, the most first.
func bundledRooms(p *programpb.Program) (rooms []int64) {
	add := func(t *programpb.StateTable, most uint32) {
		if !keepsFlows(t) {
			return
		}
		room := roomOf(t)
		if most > 0 {
			room = min(room, int64(most))
		}
		rooms = append(rooms, room)
	}
	for _, r := range p.GetRuns() {
		add(p.GetTables()[r.GetTable()], r.GetMaxSessions())
	}
	for _, t := range p.GetTables() {
		if isOwner(t) {
			add(t, 0)
		}
	}
	slices.SortFunc(rooms, func(a, b int64) int { return cmp.Compare(b, a) })
	return rooms
}

// roomOf is how many entries a table may have.
func roomOf(t *programpb.StateTable) int64 {
	m := memoryOf(t)
	if m.Most > 0 {
		return m.Most
	}
	return m.Entries * m.Shards
}
