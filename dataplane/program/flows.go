package program

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Limits of observations; the engine has the same (program/sn_program_observation.c).
const (
	maxObservations = 1
	maxTops         = 8
	minEntries      = 16
	maxEntries      = 16384
	minObserveMs    = 1000
	maxObserveMs    = 3_600_000
	maxSampling     = 65535
)

func init() {
	operations[reflect.TypeFor[*programpb.Op_Observe]()] = operation{
		kind: Note,
		check: func(v validator, at string, o *programpb.Op) error {
			return index(at, "observe", o.GetObserve(), len(v.p.GetObservations()))
		},
		text: func(p *Program, o *programpb.Op) string {
			return "observe flow " + p.GetObservations()[o.GetObserve()].GetName()
		},
	}
}

func (v validator) observation(i int, o *programpb.Observation) error {
	at := fmt.Sprintf("observations[%d] (%s)", i, o.GetName())
	return first(
		has(at, "tops", len(o.GetTops()), maxTops),
		between(at, "entries", o.GetEntries(), minEntries, maxEntries),
		between(at, "interval_ms", o.GetIntervalMs(), minObserveMs, maxObserveMs),
		each(o.GetTops(), func(j int, by *programpb.ObserveBy) error {
			return observeBy(fmt.Sprintf("%s: tops[%d]", at, j), by)
		}),
		flowExport(at+": export", o.GetExport()),
	)
}

func observeBy(at string, by *programpb.ObserveBy) error {
	flow := by.GetWhat() == programpb.ObserveBy_FLOW
	if _, ok := programpb.ObserveBy_What_name[int32(by.GetWhat())]; !ok {
		return fmt.Errorf("%s: what is %d, want FLOW, SOURCE or DESTINATION", at, by.GetWhat())
	}
	if n := by.GetPrefixLen(); flow && n != 0 || !flow && (n < 1 || n > 32) {
		return fmt.Errorf("%s: prefix_len is %d, want 1..32, of flows 0", at, n)
	}
	return nil
}

func flowExport(at string, x *programpb.FlowExport) error {
	if x == nil {
		return nil
	}
	return first(
		between(at, "port", x.GetPort(), 1, 65535),
		between(at, "sampling", x.GetSampling(), 1, maxSampling),
		between(at, "active_ms", x.GetActiveMs(), minObserveMs, maxObserveMs),
		between(at, "idle_ms", x.GetIdleMs(), minObserveMs, maxObserveMs),
	)
}

func between(at, field string, v, least, most uint32) error {
	if v >= least && v <= most {
		return nil
	}
	return fmt.Errorf("%s: %s is %d, want %d..%d", at, field, v, least, most)
}

// ObservationText is an observation of a program in words.
func ObservationText(o *programpb.Observation) string {
	var says []string
	for _, by := range o.GetTops() {
		says = append(says, "top "+byText(by))
	}
	if x := o.GetExport(); x != nil {
		says = append(says, fmt.Sprintf("export to %s:%d, one in %d packets", address(x.GetCollector()), x.GetPort(), x.GetSampling()))
	}
	return fmt.Sprintf("%s: %s, %d entries in %s", o.GetName(), strings.Join(says, ", "), o.GetEntries(), time.Duration(o.GetIntervalMs())*time.Millisecond)
}

// byText says in words by what packets are counted together.
func byText(by *programpb.ObserveBy) string {
	field := headerspace.Src
	if by.GetWhat() == programpb.ObserveBy_DESTINATION {
		field = headerspace.Dst
	}
	switch by.GetPrefixLen() {
	case 0:
		return "flow"
	case 32:
		return field.String()
	}
	return fmt.Sprintf("%s/%d", field, by.GetPrefixLen())
}
