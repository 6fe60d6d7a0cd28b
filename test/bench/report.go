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
figures. A figure is the median burst, and of that the median pass. Only bursts of quiet moments count: after each 32 bursts the device makes a probe, work that
keeps all execution units of the core busy, and a burst counts between two probes that take at most 5 % more than the quickest of the run. So what another
hyper-thread takes of the core, a neighbour's on a virtual machine, is in no figure. The device waits for such moments for three seconds in each run of a program.
A pass counts if each program had 500 such bursts, and if the baseline takes at most 10 % more than at its best in the run, with the same packets. If the machine was not quiet for long
enough, passes count all the same, and *machine busy* is said. The kernel has no probes. *5tswap* is DPDK's testpmd on the same device, core and packets in the same
pass; it swaps MAC addresses, IP addresses and ports and looks nothing up. *Unmerged* is the same chain in the same engine and process, each
function a program of its own, one after the other. Absolute cycles differ from machine to machine; the ratios are what to read. The interval has the median ratio
with a confidence of 90 % or more, from five passes on (order statistics). Mpps are those of a core that does nothing else, at the TSC's clock.

Of each chain's name the end is the number of flows, one packet of each in turn: uniform, or by Zipf's law. *new-flows*: each packet opens one. *new-headers*: each packet has another header, and no
function keeps state; of one firewall so many come before that its memo of classes pauses, of a row its trial is in the figure. *row*: firewalls without state, or routers with 3,000 routes each, in a row, and packets that all of them let through. *fragments*: all packets are fragments, and none
the first of its datagram; at a router they may cost 1.3 times what whole packets may. What a second core brings is in
[cores.md](cores.md), latency in [latency.md](latency.md); ` + "`hack/bench.sh -workers 2`" + ` and ` + "`-latency`" + ` measure these alone. Rows of firewalls
that are drawn from many sets of rules are in [drawn.md](drawn.md) (` + "`make bench-drawn`" + `). All together takes an hour or so; ` + "`make bench-short`" + ` tries all of it in a few minutes,
for CI, and writes no report. ` + "`make bench-check`" + ` fails if a row's ratio exceeds the one of the last report by more than 3 %.

To measure some rows, run ` + "`hack/bench.sh -only 'napts-*,isp-*-10k'`" + `; with ` + "`-update`" + ` they take their places in this report. To compare two builds in the same passes, add
` + "`-base <the other's sinter-bench>`" + `. A row takes seconds, so a machine that does other work, too, measures it; programs run in sessions that its scheduler prefers.

`

func markdown(results []result) string {
	var b strings.Builder
	b.WriteString(preamble + cpus(results) + "\n")
	b.WriteString("| chain | cycles | Mpps | × 5tswap | interval | at most | | unmerged | synthesis gains |\n| --- | --: | --: | --: | --: | --: | --- | --: | --: |\n")
	for _, r := range results {
		unmerged, gain, bound, ratio := "", "", "", fmt.Sprintf("%.2f", r.Ratio)
		if r.Bound > 0 {
			bound = fmt.Sprintf("%.1f", r.Bound)
		}
		if r.Apart > 0 {
			unmerged, gain = fmt.Sprintf("%.0f", r.Apart), fmt.Sprintf("%.1f ×", r.Gain)
		}
		if r.Mode != "5tswap" {
			ratio += " (" + r.Mode + ")"
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.2f | %s | %v | %s | %s | %s | %s |\n", r.Name, r.Cycles, r.Mpps, ratio, r.Interval, bound, r.verdict(), unmerged, gain)
	}
	b.WriteString("\n![routers in a row](routers.svg) ![NAPTs in a row](napts.svg)\n\n![cycles over flows](flows.svg) ![Mpps over flows](flows-mpps.svg)\n")
	missesTable(&b, results)
	peersTable(&b, results)
	stagesTable(&b, results)
	return b.String()
}

const peersPreamble = `
## Peers

Other programs, in the same passes and with the same frames, rules and routes, each on the same one core. A peer that takes longer than half a minute in a row has fewer passes there.
One that could not be measured is named with the reason.

- **l3fwd** is DPDK's, built from Debian's source package. Its ` + "`acl`" + ` knows no TCP flags. It tracks no connections, replies with no ICMP, and counts nothing per rule; no more does testpmd.
- **OVS** is Debian's Open vSwitch with DPDK: the userspace datapath, one polling thread, the same replay device, packets back by the port that they came by. A rule is a flow with a priority (ports
  are values with masks), a route a flow that rewrites both MAC addresses and decrements TTL, a NAPT the action ` + "`ct(commit,nat(src=…))`" + `. Its caches are as they come.
- **kernel** is Linux in a network namespace of its own. Frames come in by a TAP device: a write of a frame returns when the kernel has received, filtered, routed and sent it, all on the
  writing thread, so the time of 32 writes in a row is their cost. The device that they leave by drops them. Nothing is handed to other cores, checksums are known to be right, as a NIC tells them.
  The system call and the copy of the frame, which a driver's DMA would save, are in the figures: *taking frames in* is what they cost alone (nftables drops at the ingress hook). What a driver
  itself costs is not in them. A packet ring (PACKET_MMAP) into a veth pair costs more than the TAP device. *rules*: a line of the file is a rule of one chain. *verdict map*: a map leads
  the source address or the destination, whichever tells more rules apart, to a chain of the rules that may match it; a map of all fields at once is impossible, as nf_tables wants elements that do
  not overlap. *snat*: connection tracking with source NAT to the pool. A *flowtable* needs a kernel with CONFIG_NF_FLOW_TABLE. In a virtual machine a system call and
  interrupts cost more than on bare metal.

| chain | program | cycles | Mpps | × 5tswap | interval |
| --- | --- | --: | --: | --: | --: |
`

// peersTable has what other programs do with the same packets.
func peersTable(b *strings.Builder, results []result) {
	b.WriteString(peersPreamble)
	for _, r := range results {
		if len(r.Peers) == 0 {
			continue
		}
		hz := r.Mpps * r.Cycles
		fmt.Fprintf(b, "| %s | Sinter | %.1f | %.2f | %.2f | %v |\n", r.Name, r.Cycles, r.Mpps, r.Ratio, r.Interval)
		fmt.Fprintf(b, "| | testpmd %s | %.1f | %.2f | 1 | |\n", r.Mode, r.Baseline, hz/r.Baseline)
		for _, p := range r.Peers {
			if p.Absent != "" {
				fmt.Fprintf(b, "| | %s | not measured: %s | | | |\n", p.Name, strings.ReplaceAll(p.Absent, "|", "/"))
				continue
			}
			name := p.Name
			if p.Forwarded < 0.99 {
				name += fmt.Sprintf(" (forwards %.0f %%)", 100*p.Forwarded)
			}
			fmt.Fprintf(b, "| | %s | %.1f | %.2f | %.2f | %v |\n", name, p.Cycles, hz/p.Cycles, p.Ratio, p.Interval)
		}
	}
	b.WriteString("\n![Mpps of peers](peers.svg)\n\nThe plot has the fastest program of each kind.\n")
}

// stagesTable has where the cycles go: the largest stage limits a row.
func stagesTable(b *strings.Builder, results []result) {
	b.WriteString("\n## Where the cycles go\n\nMeasured in extra bursts with a clock around each stage (which itself costs a few cycles).\n\n| chain |")
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
	if r.Busy > 0 {
		return strings.TrimPrefix(r.boundVerdict()+", machine busy", ", ")
	}
	return r.boundVerdict()
}

func (r *result) boundVerdict() string {
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

// verdict says which bounds are missed, which chains are dearer than their functions one by one, and whether chains get dearer with their length.
func verdict(results []result) error {
	var bad []string
	for _, r := range results {
		if r.Bound > 0 && r.Ratio > r.Bound {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × %s, at most %.1f are allowed", r.Name, r.Ratio, r.Mode, r.Bound))
		}
		if r.Functions > 1 && r.Gain > 0 && r.Gain*tolerance < 1 {
			bad = append(bad, fmt.Sprintf("%s costs %.2f × its functions one by one", r.Name, 1/r.Gain))
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
