package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// wireBound is what a function on a wire may cost in the engine: cycles per packet.
const wireBound = 150

// wireRow is a chain with functions that someone else runs. Each gives back every frame at once and unchanged, so that what is measured is the
// engine's: the frame leaves by a wire, comes back by the other one, and goes on. Or it is down.
type wireRow struct {
	name    string
	fns     functions
	traffic traffic
}

// blackbox is a function on wires, which gives every frame back.
func blackbox(name string) v1alpha1.Function {
	b := &v1alpha1.Blackbox{Attachment: v1alpha1.BlackboxWire, Inside: v1alpha1.Name(name + "-in"), Outside: v1alpha1.Name(name + "-out")}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Blackbox: b}}
}

// silent is one that is down, and that packets go past: sinter-bench gives no frame back if that is said of the function.
func silent(name string) v1alpha1.Function {
	f := blackbox(name)
	f.Blackbox.WhenDown = v1alpha1.BlackboxOpen
	return f
}

// passing is one that flows go past after their first packet.
func passing(name string) v1alpha1.Function {
	f := blackbox(name)
	t := v1alpha1.ConnectionTimeouts{TCP: "2h4m", TCPTransitory: "4m", TCPClosing: "1s", UDP: "5m", ICMP: "60s"}
	f.Blackbox.Bypass = &v1alpha1.BlackboxBypass{AfterPackets: 1, MaxFlows: 1_000_000, Timeouts: t}
	return f
}

// replicas are two that share the flows.
func replicas(name string) v1alpha1.Function {
	b := &v1alpha1.Blackbox{Attachment: v1alpha1.BlackboxWire, WhenDown: v1alpha1.BlackboxClosed}
	for _, one := range []string{name + "1", name + "2"} {
		b.Replicas = append(b.Replicas, v1alpha1.BlackboxReplica{Inside: v1alpha1.Name(one + "-in"), Outside: v1alpha1.Name(one + "-out")})
	}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Blackbox: b}}
}

// tap is one that gets a copy of each packet, of both directions by one wire.
func tap(name string) v1alpha1.Function {
	b := &v1alpha1.Blackbox{Attachment: v1alpha1.BlackboxTap, Inside: v1alpha1.Name(name + "-copies")}
	return v1alpha1.Function{Name: v1alpha1.Name(name), FunctionKinds: v1alpha1.FunctionKinds{Blackbox: b}}
}

// wires are the interfaces by which packets leave for functions that someone else runs, and come back.
func wires(fns functions) []v1alpha1.Interface {
	var out []v1alpha1.Interface
	for _, f := range fns {
		if f.Blackbox == nil {
			continue
		}
		for _, w := range f.Blackbox.Ways() {
			out = append(out, v1alpha1.Interface{Name: w.Inside, Wire: true})
			if w.Outside != "" {
				out = append(out, v1alpha1.Interface{Name: w.Outside, Wire: true})
			}
		}
	}
	return out
}

// wireRows are chains with state and without, of few flows and of many, with one next hop before the wire and with many, with wires in a row, and
// with functions that are down, or that flows go past, or that share flows, or that get copies.
func wireRows(data string) []wireRow {
	const set = "acl1_713"
	fw, ips := firewall("fw", rulesFile(data, set)), blackbox("ips")
	nat := func(flows int) v1alpha1.Function { return napts(1, flows)[0] }
	hops := drawTables()[0]
	return []wireRow{
		{"firewall-ips-napt-10k", functions{statefulFirewall("fw"), ips, nat(10_000)}, mixed(10_000, frameSize)},
		{"napt-ips-10k", functions{nat(10_000), ips}, mixed(10_000, frameSize)},
		{"napt-ips-200k", functions{nat(200_000), ips}, mixed(200_000, frameSize)},
		{"acl1-713-ips-router-64k", functions{fw, ips, router("rt")}, accepted(data, set, 64_000)},
		{"router-16-hops-ips-64k", functions{hops.router("rt", true), ips}, throughAll([]drawnTable{hops}, 64_000)},
		{"acl1-713-ips-dpi-router-64k", functions{fw, ips, blackbox("dpi"), router("rt")}, accepted(data, set, 64_000)},
		{"firewall-down-napt-10k", functions{statefulFirewall("fw"), silent("ips"), nat(10_000)}, mixed(10_000, frameSize)},
		{"acl1-713-down-router-64k", functions{fw, silent("ips"), router("rt")}, accepted(data, set, 64_000)},
		{"firewall-past-napt-10k", functions{statefulFirewall("fw"), passing("ips"), nat(10_000)}, mixed(10_000, frameSize)},
		{"acl1-713-past-router-64k", functions{fw, passing("ips"), router("rt")}, accepted(data, set, 64_000)},
		{"firewall-replicas-napt-10k", functions{statefulFirewall("fw"), replicas("ips"), nat(10_000)}, mixed(10_000, frameSize)},
		{"acl1-713-replicas-router-64k", functions{fw, replicas("ips"), router("rt")}, accepted(data, set, 64_000)},
		{"firewall-tap-napt-10k", functions{statefulFirewall("fw"), tap("ids"), nat(10_000)}, mixed(10_000, frameSize)},
		{"napt-tap-10k", functions{nat(10_000), tap("ids")}, mixed(10_000, frameSize)},
		{"acl1-713-tap-router-64k", functions{fw, tap("ids"), router("rt")}, accepted(data, set, 64_000)},
	}
}

// stops is how many functions someone else runs.
func (r *wireRow) stops() int { return len(r.fns) - len(r.without()) }

// without are the functions that are Sinter's.
func (r *wireRow) without() functions {
	return slices.DeleteFunc(slices.Clone(r.fns), func(f v1alpha1.Function) bool { return f.Blackbox != nil })
}

// wireResult has medians over passes.
type wireResult struct {
	name                  string
	stops, flows          int
	cycles, without, wire float64 // cycles per packet; wire: of each function on wires
	interval              interval
	base                  float64 // wire, of another tree; 0: not measured
	busy                  int
}

func (b *bench) measureWires(ctx context.Context, r wireRow) (*wireResult, error) {
	p, err := b.plan(row{Name: r.name, N: len(r.fns), chain: fixed(r.fns), traffic: r.traffic})
	if err != nil {
		return nil, err
	}
	without, err := b.compile(merged(r.name+"-without", r.without()))
	if err != nil {
		return nil, err
	}
	p.apart = []string{without}
	var s series
	var out result
	for left := busyTries * b.passes; len(s.cycles) < b.passes; {
		busy, err := b.pass(ctx, p, &out, &s, left > 0)
		if err != nil {
			return nil, err
		}
		if busy {
			left--
		}
	}
	each := func(cycles samples) samples {
		var list samples
		for i := range cycles {
			list = append(list, (cycles[i]-s.apart[i])/float64(r.stops()))
		}
		return list
	}
	of := each(s.cycles)
	w := &wireResult{
		name: r.name, stops: r.stops(), flows: r.traffic.flows, cycles: s.cycles.median(), without: s.apart.median(), wire: of.median(), interval: of.interval(), busy: out.Busy,
	}
	if len(s.base) > 0 {
		w.base = each(s.base).median()
	}
	return w, nil
}

const wiresPreamble = `# Functions on wires

Made by ` + "`make bench-wires`" + `: cycles per packet of chains with functions that [someone else runs](../blackbox.md), and of the same chains without these. Each such function gives back
every frame at once and unchanged, in the memory of the engine, so *each wire* is what the engine itself spends on it per packet and direction: to address the frame, to send it, to receive it again,
and to go on where the chain was left. What a device and the function cost comes on top. Cycles as in the [rows](README.md); passes: %d; at most %d are wanted.

- *firewall-ips-napt*: a stateful firewall before the function, a NAPT behind it; *napt-ips*: nothing behind it.
- *acl1-713-ips-router*: without state, a firewall of 713 rules before it, a router behind it; *ips-dpi*: two functions in a row.
- *router-16-hops-ips*: a router of 3,000 routes before it, whose 16 next hops are noted in the frame.
- *down*: the function is down, and ` + "`whenDown: Open`" + ` leads packets past it. Each wire is what that costs.
- *replicas*: two functions share the flows. Each wire is what a packet spends on the one that it goes to.
- *tap*: the function gets copies, and each wire is what a copy costs.
- *past*: flows go past the function after their first packet, and all have had it. Each wire is what it costs to know that of a flow.

Measured on %s.

| chain | wires | flows | cycles | without | each wire | interval | |
| --- | --: | --: | --: | --: | --: | --: | --- |
`

func wiresReport(results []*wireResult, passes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, wiresPreamble, passes, wireBound, cpu())
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %d | %d | %.1f | %.1f | %.1f | %.1f–%.1f | %s |\n", r.name, r.stops, r.flows, r.cycles, r.without, r.wire, r.interval.Low, r.interval.High, r.verdict())
	}
	return b.String()
}

func (r *wireResult) verdict() string {
	text := "met"
	if r.wire > wireBound {
		text = fmt.Sprintf("missed by %.0f %%", 100*(r.wire/wireBound-1))
	}
	if r.busy > 0 {
		text += ", machine busy"
	}
	return text
}

// wireRows measures chains with wires, into wires.md unless only some are wanted.
func (f *flags) wireRows(ctx context.Context, b *bench, data string) error {
	list, err := chosen(wireRows(data), f.only, func(r wireRow) string { return r.name })
	if err != nil {
		return err
	}
	var results []*wireResult
	for _, r := range list {
		w, err := b.measureWires(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f cycles, %.1f without, each wire %.1f (%.1f–%.1f)", w.name, w.cycles, w.without, w.wire, w.interval.Low, w.interval.High)
		if w.base > 0 {
			fmt.Fprintf(os.Stderr, ", of the base %.1f", w.base)
		}
		fmt.Fprintln(os.Stderr)
		results = append(results, w)
	}
	if f.only != "" || f.base != "" {
		return nil
	}
	m, err := b.measureMemif(ctx, f.sharing(b.scratch))
	if err != nil {
		return fmt.Errorf("memif: %w", err)
	}
	fmt.Fprintln(os.Stderr, m.report())
	return os.WriteFile(filepath.Join(f.out, "wires.md"), []byte(wiresReport(results, b.passes)+m.report()), 0o644)
}
