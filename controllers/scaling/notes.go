package scaling

import (
	"fmt"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/load"
)

// Reason of a note, in CamelCase.
type Reason string

// Reasons of changes.
const (
	LoadRose    Reason = "LoadRose"    // more is wanted than the target allows
	LoadFell    Reason = "LoadFell"    // less was wanted for a whole window
	PacketsLost Reason = "PacketsLost" // the alarm
	SpecChanged Reason = "SpecChanged" // the bounds allow no more, or no fewer
)

// Reasons of findings.
const (
	ShardTooHeavy   Reason = "ShardTooHeavy"   // for any core
	AtMaximum       Reason = "AtMaximum"       // more is needed than the bounds allow
	HeadroomLacking Reason = "HeadroomLacking" // the loss of a node would not be borne
)

// Note is a change or a finding, of a pod or of the whole chain.
type Note struct {
	Pod     string // empty: the chain
	Reason  Reason
	Message string
}

// why is the reason of a number's change.
func (r reading) why(before, after int) Reason {
	switch {
	case after < before && before > r.most:
		return SpecChanged
	case after < before:
		return LoadFell
	case r.needed >= after:
		return LoadRose
	case r.atLeast >= after:
		return SpecChanged
	}
	return PacketsLost
}

func (d *Decision) noteCores(in Input, p Pod, s stabilizer, before, after int, r reading, wanted float64) {
	b := in.Bounds
	if after != before {
		why := r.why(before, after)
		d.Changes = append(d.Changes, Note{p.Name, why, fmt.Sprintf("instance %s scales from %d to %d working cores: %s", p.Name, before, after, because(why, b, s, wanted, p))})
	}
	for _, e := range p.Report.Heavy {
		d.Findings = append(d.Findings, Note{p.Name, ShardTooHeavy, e.String()})
	}
	if after == b.MaxCores && b.MaxPods <= len(in.Pods) && in.allReady() && s.short {
		d.Findings = append(d.Findings, Note{p.Name, AtMaximum, fmt.Sprintf(
			"instance %s works with %d of %d cores, and its load exceeds the target of %.0f %%: raise maxCores, instances or maxInstances", p.Name, after, after, 100*b.Target)})
	}
}

// allReady tells whether no help is on its way.
func (in Input) allReady() bool {
	return !slices.ContainsFunc(in.Pods, func(p Pod) bool { return !p.Ready })
}

func (d *Decision) notePods(in Input, s stabilizer, before, after int, r reading, wanted float64) {
	b := in.Bounds
	if after != before {
		why := r.why(before, after)
		text := because(why, b, s, sum(worksOf(in.Pods)), Pod{})
		if f := in.bottleneck(); f != nil && (why == LoadRose || why == LoadFell) {
			text = f.String()
			if why == LoadFell {
				text = fmt.Sprintf("for %s fewer instances were enough; %s", s.window.Round(time.Second), text)
			}
		} else if why == LoadRose && wanted <= b.Target*float64(before*b.MaxCores) && b.LoseNodes > 0 {
			text = fmt.Sprintf("the chain must survive the loss of %d nodes", b.LoseNodes)
		}
		d.Changes = append(d.Changes, Note{"", why, fmt.Sprintf("the chain scales from %d to %d instances of %d cores: %s", before, after, b.MaxCores, text)})
	}
	if b.LoseNodes > 0 && !survives(in, after, wanted, 1) {
		d.Findings = append(d.Findings, Note{"", HeadroomLacking, fmt.Sprintf(
			"%d instances of %d cores cannot carry the load if %d nodes are lost, and %d instances is the maximum", after, b.MaxCores, b.LoseNodes, b.MaxPods)})
	}
}

// because says what a change follows from.
func because(why Reason, b Bounds, s stabilizer, wanted float64, p Pod) string {
	switch why {
	case LoadFell:
		return fmt.Sprintf("for %s fewer cores were enough to stay well below %.0f %% of each; the load is %.2f cores now", s.window.Round(time.Second), 100*b.Target, wanted)
	case PacketsLost:
		if p.Name == "" {
			return fmt.Sprintf("instances lose packets although all cores work; the load is %.2f cores", wanted)
		}
		return fmt.Sprintf("it lost %.2f %% of its packets", 100*lost(p.Report))
	case SpecChanged:
		if p.Name == "" {
			return fmt.Sprintf("the spec asks for %d to %d", b.MinPods, b.MaxPods)
		}
		return fmt.Sprintf("the spec asks for %d to %d", b.MinCores, b.MaxCores)
	default:
		return fmt.Sprintf("the load is %.2f cores, the target is %.0f %% of each core", wanted, 100*b.Target)
	}
}

// lost is the part of the packets that was lost.
func lost(r load.Report) float64 {
	var done, lost float64
	for _, c := range r.Cores {
		done += c.Packets
		lost += c.Lost
	}
	if lost == 0 {
		return 0
	}
	return lost / (done + lost)
}
