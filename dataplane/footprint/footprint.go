// Package footprint bounds the memory that an engine takes for a program, beside its hugepages.
package footprint

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/fib"
	_ "github.com/sinter-nfv/sinter/dataplane/program" // kinds of every function
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// Footprint is memory in bytes, at most.
type Footprint struct {
	State     int64 // of the sessions, flows and subscribers that the program may have, however they come
	Decisions int64 // about their packets
	Routes    int64 // of tables of routes; the next ones are built beside those that run
	Core      int64 // of each core: what it has of its own
}

// own is what an engine takes for itself, and for a program and the next one.
const own = 64 * mib

// Of is the footprint of a program, and of the tables of routes that it names.
func Of(p *programpb.Program, tables []*fib.Table) Footprint {
	f := Footprint{State: stateOf(p), Decisions: decisionsOf(p), Core: coreOf(p)}
	for _, t := range tables {
		f.Routes += 2 * int64(t.EngineBytes())
	}
	return f
}

// Total is all that an engine of so many cores takes.
func (f Footprint) Total(cores int) int64 {
	return own + f.State + f.Decisions + f.Routes + int64(cores)*f.Core
}

// Least is what an engine takes though it has no session.
func (f Footprint) Least() int64 { return own + f.Routes }

// decisionBytes is the most that tables of short decisions have for each session that their worker has: 64 in the one in use, 32 in the one before it, and 64
// in that of a program to come (dataplane/engine/cache/sn_cache_short.c).
const decisionBytes = 160

func decisionsOf(p *programpb.Program) (bytes int64) {
	for _, t := range p.GetTables() {
		bytes += decisionBytes * memoryOf(t).Most
	}
	return bytes
}

const (
	// coreOwn is a worker's cache of decisions, its first table of short ones, its neighbours and its counters.
	coreOwn = 20 * mib
	// memoMost is the most that a memo of classes has, of which a worker has maxMemos for a chain without state (sn_memo.c, sn_counts.c).
	memoMost = 34 * mib
	maxMemos = 8
	// Cells of observed flows: a worker has some from the start, then up to flowBytes for each session, but no more than flowsMost.
	flowsLeast = 4 * mib
	flowsMost  = 84 * mib
	flowBytes  = 256
	// topBytes is what a row of a list of the heaviest takes, in the interval that runs and in the last one.
	topBytes = 192
)

func coreOf(p *programpb.Program) int64 {
	bytes := int64(coreOwn)
	if !slices.ContainsFunc(p.GetTables(), keepsFlows) {
		segments := map[uint32]bool{}
		for _, i := range p.GetInterfaces() {
			segments[i.GetSegment()] = true
		}
		bytes += int64(min(len(segments), maxMemos)) * memoMost
	}
	for _, o := range p.GetObservations() {
		var sessions int64
		for _, t := range p.GetTables() {
			sessions = max(sessions, memoryOf(t).Most)
		}
		bytes += min(flowsLeast+flowBytes*sessions, flowsMost) + int64(len(o.GetTops()))*int64(o.GetEntries())*topBytes
	}
	return bytes
}

// keepsFlows tells whether packets of known flows are not classified again.
func keepsFlows(t *programpb.StateTable) bool { return !rule.StateKindOf(t).EachPacket }
