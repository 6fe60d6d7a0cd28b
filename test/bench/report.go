package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// report writes results.json, README.md and the plots.
func report(dir string, results []result) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(markdown(results)), 0o644); err != nil {
		return err
	}
	return plots(dir, results)
}

const preamble = `# Benchmarks

Made by ` + "`make bench`" + `: one core, frames replayed from memory by the device of ` + "`dataplane/engine/replay`" + `, half TCP and half UDP, of 60 bytes where nothing else
is said. The device measures TSC cycles per packet from one full burst to the next, so the cost of copying a frame into a buffer and of freeing it is in all
figures. A figure is the median burst, and of that the median pass. *5tswap* is DPDK's testpmd on the same device, core and packets in the same
pass; it swaps MAC addresses, IP addresses and ports and looks nothing up. *Unmerged* is the same chain in the same engine and process, each
function a program of its own, one after the other. Absolute cycles differ from machine to machine; the ratios are what to read. The interval has the median ratio
with a confidence of 90 % or more, from five passes on (order statistics). Mpps are those of a core that does nothing else, at the TSC's clock.

Of each chain's name the end is the number of flows, one packet of each in turn: uniform, or by Zipf's law. *new-flows*: each packet opens one. What a second core brings is measured by
` + "`hack/bench.sh -workers 2`" + `, into [cores.md](cores.md); latency by ` + "`hack/bench.sh -latency`" + `, into [latency.md](latency.md). ` + "`make bench-check`" + ` fails if a row's ratio exceeds the
one of the last report by more than 3 %.

To measure some rows, run ` + "`hack/bench.sh -only 'napts-*,isp-*-10k'`" + `; with ` + "`-update`" + ` they take their places in this report. To compare two builds in the same passes, add
` + "`-base <the other's sinter-bench>`" + `. A row takes seconds, so a machine that does other work, too, measures it; programs run in sessions that its scheduler prefers.

`

func markdown(results []result) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("| chain | cycles | Mpps | × 5tswap | interval | at most | | unmerged | synthesis gains |\n| --- | --: | --: | --: | --: | --: | --- | --: | --: |\n")
	for _, r := range results {
		unmerged, gain, ratio := "", "", fmt.Sprintf("%.2f", r.Ratio)
		if r.Apart > 0 {
			unmerged, gain = fmt.Sprintf("%.0f", r.Apart), fmt.Sprintf("%.1f ×", r.Gain)
		}
		if r.Mode != "5tswap" {
			ratio += " (" + r.Mode + ")"
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %s | %v | %.1f | %s | %s | %s |\n", r.Name, r.Cycles, r.Mpps, ratio, r.Interval, r.Bound, r.verdict(), unmerged, gain)
	}
	b.WriteString("\n![routers in a row](routers.svg) ![NAPTs in a row](napts.svg)\n\n![cycles over flows](flows.svg) ![Mpps over flows](flows-mpps.svg)\n")
	peersTable(&b, results)
	stagesTable(&b, results)
	return b.String()
}

// peersTable has what other programs do with the same packets.
func peersTable(b *strings.Builder, results []result) {
	b.WriteString("\n## Peers\n\nOther programs, in the same passes and with the same frames, rules and routes. l3fwd is DPDK's, built from Debian's source package. Its `acl` knows no TCP flags;\n" +
		"none of them tracks connections, replies with ICMP, or counts per rule.\n\n" +
		"| chain | program | cycles | Mpps | × 5tswap | interval |\n| --- | --- | --: | --: | --: | --: |\n")
	for _, r := range results {
		if len(r.Peers) == 0 {
			continue
		}
		hz := r.Mpps * r.Cycles
		fmt.Fprintf(b, "| %s | Sinter | %.1f | %.2f | %.2f | %v |\n", r.Name, r.Cycles, r.Mpps, r.Ratio, r.Interval)
		fmt.Fprintf(b, "| | testpmd %s | %.1f | %.2f | 1 | |\n", r.Mode, r.Baseline, hz/r.Baseline)
		for _, p := range r.Peers {
			fmt.Fprintf(b, "| | %s | %.1f | %.2f | %.2f | %v |\n", p.Name, p.Cycles, hz/p.Cycles, p.Ratio, p.Interval)
		}
	}
	b.WriteString("\n![Mpps of peers](peers.svg)\n")
}

// stagesTable has where the cycles go: the largest stage limits a row.
func stagesTable(b *strings.Builder, results []result) {
	b.WriteString("\n## Where the cycles go\n\nMeasured in extra bursts with a clock around each stage (which itself costs a few cycles). The largest stage is what limits a row that misses its bound.\n\n| chain |")
	for _, s := range stages {
		fmt.Fprintf(b, " %s |", s)
	}
	b.WriteString(" largest |\n| --- |" + strings.Repeat(" --: |", len(stages)) + " --- |\n")
	for _, r := range results {
		fmt.Fprintf(b, "| %s |", r.Name)
		largest := stages[0]
		for _, s := range stages {
			fmt.Fprintf(b, " %.1f |", r.Stages[s])
			if r.Stages[s] > r.Stages[largest] {
				largest = s
			}
		}
		fmt.Fprintf(b, " %s |\n", largest)
	}
	b.WriteString("\n![cycles per stage](stages.svg)\n")
}

// verdict tells whether a row's bound is met, or by how much not.
func (r *result) verdict() string {
	switch {
	case r.Bound == 0:
		return ""
	case r.Ratio <= r.Bound:
		return "met"
	case r.Ratio < 1.01*r.Bound:
		return fmt.Sprintf("missed by %.1f %%", 100*(r.Ratio/r.Bound-1))
	default:
		return fmt.Sprintf("missed by %.0f %%", 100*(r.Ratio/r.Bound-1))
	}
}

var stages = []string{"receive", "parse", "lookup", "classify", "rewrite", "send"}

func stageText(cycles map[string]float64) string {
	var parts []string
	for _, s := range stages {
		parts = append(parts, fmt.Sprintf("%s %.0f", s, cycles[s]))
	}
	return strings.Join(parts, ", ")
}

func of(group string, results []result) []result {
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Group != group })
}

// verdict says which bounds are missed, and whether chains get dearer with their length.
func verdict(results []result) error {
	var bad []string
	for _, r := range results {
		if r.Bound > 0 && r.Ratio > r.Bound {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most %.1f are allowed", r.Name, r.Ratio, r.Mode, r.Bound))
		}
	}
	for _, group := range []string{"routers", "napts"} {
		g := of(group, results)
		if len(g) == 0 {
			continue
		}
		first, last := g[0], g[len(g)-1]
		if q := last.Cycles / first.Cycles; q > 1.10 {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most 1.10 are allowed", last.Name, q, first.Name))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("bounds are missed: %s", strings.Join(bad, "; "))
	}
	fmt.Fprintln(os.Stderr, "all bounds hold")
	return nil
}
