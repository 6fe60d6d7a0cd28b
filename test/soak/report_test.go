package soak

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is what came of a flood, in all its turns.
type row struct {
	sent, received uint64
	drops          map[string]uint64
}

// add adds a turn.
func (r *row) add(before, after account) {
	if r.drops == nil {
		r.drops = map[string]uint64{}
	}
	r.sent += after.sent - before.sent
	r.received += after.received - before.received
	for reason, n := range after.drops {
		if grown := n - before.drops[reason]; grown > 0 {
			r.drops[reason] += grown
		}
	}
}

func (r *row) String() string {
	return fmt.Sprintf("%s | %s | %s", thousands(r.sent), thousands(r.received), r.dropped())
}

// dropped is what was dropped, by reason, the most first.
func (r *row) dropped() string {
	reasons := slices.SortedFunc(maps.Keys(r.drops), func(a, b string) int { return int(r.drops[b]) - int(r.drops[a]) })
	list := make([]string, len(reasons))
	for i, reason := range reasons {
		list[i] = fmt.Sprintf("`%s` %s", reason, thousands(r.drops[reason]))
	}
	return strings.Join(list, ", ")
}

func thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

const page = `# Soak

A chain runs for hours in a network that is never quiet. Each packet has to be accounted for, and memory has to stay as it is. This page is the report of the last run, of **%s** on %s (%d CPUs). To repeat it, as root:

` + "```sh" + `
make soak HOURS=2
` + "```" + `

## The run

| | |
| --- | --- |
| chain | stateful firewall, connection limiter, rate limiter, a function of somebody else on two wires, NAPT; ` + "`sinterctl run`" + ` with two workers |
| flows | %d at a time between %d hosts and %d servers, TCP, UDP and ping, each with 3 to 2,000 packets: %s flows, %s packets with their answers |
| swaps | another program each second, with other rates and rules, up to 160 more of these: %s |
| moves | each of the 128 shards to a worker by lot, each 0.7 s: %s times |
| floods | by turns, ten seconds each |

What held, or the run would have ended:

- At the end of each turn, frames that hosts had sent + ICMP errors that the engine had made = frames and errors that hosts received + packets dropped, exactly.
- No packet of an established flow was without an answer. A flow's first packet may be, as that of a host that nobody knows yet: %s were sent again. (So were %s packets that were lost while a worker had no CPU: by a device, or as ` + "`handover-full`" + `.)
- No swap ended a session.
- Memory in the last quarter of the run was not above that in the second one, but for %d MiB. (Runs of less than an hour do not check that.)

## Floods

Hosts send no more than the engine takes, about half of it the flood.

| flood | sent | received | dropped |
| --- | --: | --: | --- |
%s
Each reason is explained in [language.md](language.md#drops).

## Memory

Resident, MiB: the median of each quarter of the run. In the first one memory grows: sessions are made, and each worker gets memory for the decisions of so many flows (8 or 16 MiB).

| process | first | second | third | last |
| --- | --: | --: | --: | --: |
%s
## Not in it

Restarts, agents and the operator, and moves of shards between pods. Tests of the agent (` + "`dataplane/agent/transfer`" + `) have each of these for seconds.
`

// write writes the page that the environment names.
func (s *soak) write(t *testing.T, whole time.Duration) {
	t.Helper()
	path := os.Getenv("SINTER_SOAK_PAGE")
	if path == "" {
		return
	}
	var rows, memory strings.Builder
	for _, f := range floods {
		fmt.Fprintf(&rows, "| %s | %s |\n", f.name, s.rows[f.name])
	}
	for _, p := range s.processes {
		fmt.Fprintf(&memory, "| %s |", p.name)
		for i := range 4 {
			fmt.Fprintf(&memory, " %.1f |", float64(p.quarter(i))/1024)
		}
		memory.WriteByte('\n')
	}
	k := s.talk
	text := fmt.Sprintf(page, whole, time.Now().Format(time.DateOnly), runtime.NumCPU(), lanes, hosts, servers, thousands(k.flows), thousands(k.answered),
		thousands(uint64(s.swaps)), thousands(uint64(s.moves)), thousands(k.repeated), thousands(k.lost), tolerance>>10, rows.String(), memory.String())
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
