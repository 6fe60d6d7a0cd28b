package main

import (
	"fmt"
	"strings"
)

// limits says what limits a row that misses its bound, by profile: of the row itself or, where it has no sentence of its own, of its group.
var limits = map[string]string{
	"routers":                  "receive and send, as of 5tswap; then rewrite: TTL, checksum, two MAC addresses and counters, some 80 instructions",
	"napts":                    "rewrite, then the hash of the flow's key in look-up",
	"napts-1-1k":               "rewrite, then the hash of the flow's key in look-up",
	"napts-10-1k":              "rewrite, then the hash of the flow's key in look-up",
	"flows":                    "look-up: decision and session of a packet's flow lie beyond the L2 cache, a line each",
	"new":                      "rewrite, which makes a session, and classify, which waits for the lines that it is put into; rules are walked for the first time",
	"napts-1-new-flows":        "rewrite and classify: each flow is of another host, so what its subscriber has is counted in lines of its own, beside those of the session",
	"firewall":                 "receive and classify, about alike: frames and the memo of the headers' classes, 2 MiB, share the L2 cache, or exceed it; then rewrite",
	"fragments":                "as of whole packets: receive and send; rules are walked for each fragment",
	"row":                      "as of one firewall: receive and classify, about alike",
	"row-routers-12-64k":       "as of one router with many routes: receive and classify, about alike; then rewrite",
	"isp":                      "rewrite and look-up, as of a NAPT",
	"isp-acl1-8550-1m":         "look-up: decision and session of a packet's flow lie beyond the L2 cache, a line each",
	"monitor":                  "look-up and rewrite: the cell that a flow's packets are counted in is one line more, and lies beyond the L2 cache; then keys are looked up in lists as cells are emptied",
	"table":                    "receive and classify, about alike: frames and the memo of the destinations' classes, 2 MiB, share the L2 cache, or exceed it; then rewrite",
	"state":                    "rewrite and look-up, as of a NAPT: known flows of all functions of a chain use one entry",
	"balancer-napt-router-10k": "rewrite: a TCP flow of which one direction is seen is established to the NAPT and half open to the balancer, so two entries are used",
	"sizes":                    "parse, look-up and rewrite, which take what they take of 60 bytes, and some 10 cycles more: frames push decisions and sessions out of the L2 cache",
}

func (r *result) limit() string {
	if s, ok := limits[r.Name]; ok {
		return s
	}
	return limits[r.Group]
}

// missesTable has the rows that miss their bound, by how much, and where their cycles go.
func missesTable(b *strings.Builder, results []result) {
	b.WriteString("\n## Rows that miss their bound\n\n")
	var missed []result
	for _, r := range results {
		if r.Bound > 0 && r.Ratio > r.Bound {
			missed = append(missed, r)
		}
	}
	if len(missed) == 0 {
		b.WriteString("None.\n")
		return
	}
	b.WriteString("*Allowed* are the bound's cycles, at the baseline's of the same passes. The stages are those of [below](#where-the-cycles-go); what limits a row is known from profiles.\n\n" +
		"| chain | × | at most | factor | cycles | allowed | over | " + strings.Join(stages, " | ") + " | what limits it |\n| --- |" + strings.Repeat(" --: |", 6+len(stages)) + " --- |\n")
	for _, r := range missed {
		allowed := r.Bound * r.Baseline
		fmt.Fprintf(b, "| %s | %.2f | %.1f | %.2f | %.1f | %.1f | %.1f |", r.Name, r.Ratio, r.Bound, r.Ratio/r.Bound, r.Cycles, allowed, r.Cycles-allowed)
		for _, s := range stages {
			fmt.Fprintf(b, " %.1f |", r.Stages[s])
		}
		fmt.Fprintf(b, " %s |\n", r.limit())
	}
}
