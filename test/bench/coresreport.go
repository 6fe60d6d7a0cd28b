package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tries is how often a row that does not gain enough is measured.
const tries = 3

// coresRounds is how often a row is measured in one try, at most.
const coresRounds = 3

const coresPreamble = `# Two cores

Made by ` + "`hack/bench.sh -workers 2`" + `: the engine with a worker on the one core, on the other (*one* is their mean), and on both. Each has a queue of the replay
device with flows of its own shards (` + "`--shards address:%d`" + `). Packets per second by the median burst of quiet moments, as in the [rows](README.md); no device waits for them,
since a core that waits leaves the memory to the other. Of %d alternating rounds the best of each counts, as other work on the machine only takes away. The rounds' ratios are from
lowest to highest.

*Machine* is the ceiling: two engines of one worker at once, that share nothing, against one of them alone. What the second core lacks there it lacks for any program:
it has a share of the memory's bandwidth and of the last-level cache, or it is a hyper-thread, or a host lends it to others. Rows in which each packet opens a flow have none: their
captures end too soon. Wanted is at least %.1f ×, or %.2f of *machine*; a row below has up to %d times as many rounds. *Busy* are rounds in which a run had too few quiet moments.

Measured on %s. Here, two testpmd 5tswap at once forward %.2f (%s) × what one does; CPUs of one core, as the system tells: %s.

| chain | one | two | ratio | rounds | machine | |
| --- | --: | --: | --: | --: | --: | --- |
`

// span is the lowest and the highest ratio of a round.
func (g *gain) span() string {
	s := g.ratios().sorted()
	return fmt.Sprintf("%.2f–%.2f", s[0], s[len(s)-1])
}

// line is a row of the table.
func (g *gain) line(name string) string {
	machine, ratio, verdict := "–", g.ratio(), "met"
	if m := g.machine(); m > 0 {
		machine = fmt.Sprintf("%.2f", m)
	}
	if want := g.wanted(wantGain); ratio < want {
		verdict = fmt.Sprintf("missed by %.1f %%", 100*(1-ratio/want))
	}
	if g.busy > 0 {
		verdict += fmt.Sprintf("; %d of %d rounds busy", g.busy, len(g.two))
	}
	return fmt.Sprintf("| %s | %.2f Mpps | %.2f Mpps | %.2f | %v | %s | %s |", name, g.one()/1e6, slices.Max(g.two)/1e6, ratio, g.span(), machine, verdict)
}

// twoCores measures rows and writes cores.md. A row that cannot be measured is said to be so, and does not stop the others.
func twoCores(ctx context.Context, p pair, b *bench, list []row, out string) error {
	c, err := b.capture(mixed(10_000, frameSize))
	if err != nil {
		return err
	}
	r := replay{plugin: b.plugin, capture: c.path}
	r.warmup, r.measured = mixed(10_000, frameSize).schedule(c.packets)
	machine, err := ceiling(ctx, p.dir, &b.quiet, r, p.rounds)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, coresPreamble, partitionBit, p.rounds, wantGain, wantOfMachine, tries, cpu(), machine.ratio(), machine.span(), siblings())
	var bad []error
	for _, s := range list {
		g, err := p.measure(ctx, b, s, tries)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var unfit *unfitError
		var line string
		switch {
		case errors.As(err, &unfit):
			line = fmt.Sprintf("| %s | – | – | – | – | – | %v |", s.Name, unfit)
		case err != nil:
			bad = append(bad, fmt.Errorf("%s: %w", s.Name, err))
			line = fmt.Sprintf("| %s | – | – | – | – | – | not measured: the run failed |", s.Name)
		default:
			line = g.line(s.Name)
			if ratio, want := g.ratio(), g.wanted(p.want); ratio < want {
				bad = append(bad, fmt.Errorf("%s: two cores do %.2f × what one does, want %.2f", s.Name, ratio, want))
			}
		}
		fmt.Fprintln(os.Stderr, line)
		fmt.Fprintln(&text, line)
	}
	return errors.Join(append(bad, os.WriteFile(filepath.Join(out, "cores.md"), []byte(text.String()), 0o644))...)
}
