package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a drawn row.
const (
	drawnSynthesis = time.Second
	drawnMemory    = 500 << 20
	drawnCycles    = 1500
	drawnOfOne     = 1.1
	drawnOfOneNew  = 1.3
)

const drawnPreamble = `# Rows of firewalls, drawn

Made by ` + "`make bench-drawn`" + `: %d rows of 2 to 10 firewalls with rules of ClassBench sets (%s), routers between some of them, and at the end of every tenth a router with the
Internet's routes (*table*). Packets have headers that all firewalls of the row accept: %d that come again and again, or %d that come once. Cycles per packet as in the
[rows](README.md); passes: %d. *Gain* is what the same functions take one by one, in the same engine and passes, divided by what the chain takes. *Cuts* are the look-ups that stay apart
([why](../synthesis.md#look-ups-that-stay-apart)); of a row without any, *of one* is its cycles divided by those of its dearest function alone, with headers that recur and with new ones.
*Dearest* is the burst that takes most cycles per packet, where the headers of each burst are accepted by the same rules (of up to 4,096 choices of rules); of three runs and more, each with the bursts in another order, each
burst's quickest counts; they end when the dearest one costs the same again. *Synthesis* is the processor time of one thread and
its garbage collector, and the memory by which the process grows.

Rules that are wide in all fields leave a packet many to be compared with, so the dearest headers take as long as they do. *One by one* is what the dearest burst takes then.

Measured on %s. Wanted is that no row takes more than its functions one by one; of one, at most %.1f and %.1f; %d cycles for the dearest; %s and %d MB for synthesis.

%s
| row | cuts | synthesis | MB | recurring | gain | of one | new headers | gain | of one | dearest | one by one | |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
`

const setsPreamble = `
## Each set alone

Headers that do not come again, when the memo of classes pauses, beside DPDK's l3fwd with ` + "`rte_acl`" + ` in the same passes.

| set | cycles | × 5tswap | l3fwd acl | of it |
| --- | --: | --: | --: | --: |
`

// drawnReport is the text of drawn.md.
func drawnReport(alone []*result, results []*drawnResult, passes int) string {
	seen, sets := map[string]bool{}, []string{}
	for _, r := range results {
		for _, name := range strings.Fields(r.row) {
			if strings.Contains(name, "_") && !seen[name] {
				seen[name], sets = true, append(sets, name)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, drawnPreamble, len(results), strings.Join(slices.Sorted(slices.Values(sets)), ", "), recurring, drawnHeaders, passes, cpu(), drawnOfOne, drawnOfOneNew, drawnCycles, drawnSynthesis, drawnMemory>>20, drawnSummary(results))
	for _, r := range results {
		fmt.Fprintln(&b, r.line())
	}
	if len(alone) > 0 {
		b.WriteString(setsPreamble)
	}
	for _, r := range alone {
		fmt.Fprintln(&b, setLine(r))
	}
	return b.String()
}

// setLine is a row of the table of sets.
func setLine(r *result) string {
	peer, of := "not measured", "–"
	if len(r.Peers) > 0 && r.Peers[0].Absent == "" {
		peer, of = fmt.Sprintf("%.1f", r.Peers[0].Cycles), fmt.Sprintf("%.2f", r.Ratio/r.Peers[0].Ratio)
	}
	if r.Busy > 0 {
		of += ", machine busy"
	}
	return fmt.Sprintf("| %s | %.1f | %.2f | %s | %s |", r.Name, r.Cycles, r.Ratio, peer, of)
}

// drawnSummary counts what rows miss.
func drawnSummary(results []*drawnResult) string {
	missed := map[string]int{}
	clean := 0
	for _, r := range results {
		m := r.misses()
		if len(m) == 0 {
			clean++
		}
		for _, x := range m {
			missed[strings.SplitN(x, " ", 2)[0]]++
		}
	}
	parts := []string{fmt.Sprintf("%d of %d rows meet all of it.", clean, len(results))}
	for _, what := range []string{"recurring", "new", "of", "dearest", "synthesis", "memory"} {
		if n := missed[what]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d miss.", map[string]string{
				"recurring": "Headers that recur", "new": "New headers", "of": "Of one", "dearest": "Dearest", "synthesis": "Time of synthesis", "memory": "Its memory",
			}[what], n))
		}
	}
	return strings.Join(parts, " ") + "\n"
}

// misses is what a row should not take. A gain may be as much below one as passes differ.
func (r *drawnResult) misses() (list []string) {
	if r.again.Gain*tolerance < 1 {
		list = append(list, fmt.Sprintf("recurring headers cost %.2f × one by one", 1/r.again.Gain))
	}
	if r.once.Gain*tolerance < 1 {
		list = append(list, fmt.Sprintf("new headers cost %.2f × one by one", 1/r.once.Gain))
	}
	if r.ofOne > drawnOfOne {
		list = append(list, fmt.Sprintf("of one %.2f", r.ofOne))
	}
	if r.ofOneNew > drawnOfOneNew {
		list = append(list, fmt.Sprintf("of one, new headers, %.2f", r.ofOneNew))
	}
	if r.dearest > drawnCycles {
		list = append(list, fmt.Sprintf("dearest %.0f", r.dearest))
	}
	if r.synth > drawnSynthesis {
		list = append(list, fmt.Sprintf("synthesis %.2f s", r.synth.Seconds()))
	}
	if r.grown > drawnMemory {
		list = append(list, fmt.Sprintf("memory %d MB", r.grown>>20))
	}
	return list
}

// line is a row of the table.
func (r *drawnResult) line() string {
	ofOne := [2]string{"–", "–"}
	if r.cuts == 0 {
		ofOne = [2]string{fmt.Sprintf("%.2f", r.ofOne), fmt.Sprintf("%.2f", r.ofOneNew)}
	}
	verdict := "met"
	if m := r.misses(); len(m) > 0 {
		verdict = strings.Join(m, "; ")
	}
	if r.again.Busy+r.once.Busy > 0 {
		verdict += ", machine busy"
	}
	return fmt.Sprintf("| %s | %d | %.2f s | %d | %.0f | %.1f × | %s | %.0f | %.1f × | %s | %.0f | %.0f | %s |", r.row, r.cuts, r.synth.Seconds(), r.grown>>20,
		r.again.Cycles, r.again.Gain, ofOne[0], r.once.Cycles, r.once.Gain, ofOne[1], r.dearest, r.dearestApart, verdict)
}

// drawnVerdict says which rows are dearer than their functions one by one.
func drawnVerdict(results []*drawnResult) error {
	var bad []string
	for _, r := range results {
		if r.again.Gain*tolerance < 1 || r.once.Gain*tolerance < 1 {
			bad = append(bad, fmt.Sprintf("%s gains %.2f and %.2f", r.row, r.again.Gain, r.once.Gain))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("rows cost more than their functions one by one: %s", strings.Join(bad, "; "))
	}
	return nil
}
