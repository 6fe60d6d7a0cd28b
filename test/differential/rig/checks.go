package rig

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/interp/header"
)

// checks are what an engine should find that checks some of the frames of a way through a stop.
type checks struct {
	returned uint64
	changed  map[string]uint64 // by field, as the engine names it
}

// names are those of the fields that stops of the suite write.
var names = map[headerspace.Field]string{
	headerspace.DSCP: "DSCP", headerspace.TTL: "TTL", headerspace.Src: "Source", headerspace.Dst: "Destination",
}

// checksOf are those of the way that begins at an interface, whatever the chain becomes.
func (r *Rig) checksOf(out int) *checks {
	name := r.Graph.Interfaces[out].Name
	if r.checks[name] == nil {
		r.checks[name] = &checks{changed: map[string]uint64{}}
	}
	return r.checks[name]
}

// lies are the fields that a stop may write although it does not say so.
func lies(declared []headerspace.Field) []headerspace.Field {
	return slices.DeleteFunc([]headerspace.Field{headerspace.DSCP, headerspace.TTL, headerspace.Src, headerspace.Dst},
		func(f headerspace.Field) bool { return slices.Contains(declared, f) })
}

// checkedFirst is how the source address begins of a frame that is checked (docs/elements.md).
const checkedFirst = 0x06

// comeBack notes a frame that comes back as another, if the engine has it checked.
func (c *checks) comeBack(was, is []byte, declared []headerspace.Field) {
	if was[6] != checkedFirst || is[6] != checkedFirst {
		return
	}
	c.returned++
	before, after := packetOf(was), packetOf(is)
	changed := map[headerspace.Field]bool{
		headerspace.DSCP: before[1]>>2 != after[1]>>2, headerspace.TTL: before[8] != after[8],
		headerspace.Src: header.Src(before) != header.Src(after), headerspace.Dst: header.Dst(before) != header.Dst(after),
	}
	for f, yes := range changed {
		if yes && !slices.Contains(declared, f) {
			c.changed[names[f]]++
		}
	}
}

// compareChecks notes where the engine found something else. It counts what it checked.
func (r *Rig) compareChecks(stats *controlpb.Stats, note func(what string, want, seen any)) {
	for _, w := range stats.GetWires() {
		want := cmp.Or(r.checks[w.GetOut()], &checks{})
		note("checked frames that came back of those that left by "+w.GetOut(), want.returned, w.GetReturned())
		seen := map[string]uint64{}
		for _, c := range w.GetContradictions() {
			r.Stats.Lies += c.GetPackets()
			seen[c.GetWhat()] = c.GetPackets()
		}
		note("changes by the stop to which packets leave by "+w.GetOut(), fmt.Sprint(want.changed), fmt.Sprint(seen))
		r.Stats.Checked += w.GetChecked()
	}
}
