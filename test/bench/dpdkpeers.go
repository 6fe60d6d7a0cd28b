package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// once is a peer that is started for each pass.
type once func(ctx context.Context, r replay) (*deviceReport, error)

func (f once) run(ctx context.Context, r replay) (*deviceReport, error) { return f(ctx, r) }
func (once) close()                                                     {}

// testpmdIn is DPDK's forwarder in another mode than the baseline's.
func testpmdIn(mode string) peer {
	return peer{"testpmd " + mode, func(_ context.Context, b *bench, _ *row) (forwarding, error) {
		return once(func(ctx context.Context, r replay) (*deviceReport, error) { return b.baseline.run(ctx, r, mode) }), nil
	}}
}

// l3fwd is DPDK's router, with all packets from one port back to it.
type l3fwd struct {
	binary  string // empty: it could not be built
	core    int
	scratch string
}

func (l l3fwd) run(ctx context.Context, r replay, args []string) (*deviceReport, error) {
	report := filepath.Join(l.scratch, "report.json")
	all := append([]string{"-l", strconv.Itoa(l.core)}, r.eal(report)...)
	all = append(append(all, "--", "-p", "0x1", "-P", "--config", fmt.Sprintf("(0,0,%d)", l.core)), args...)
	return untilReport(ctx, report, nil, l.binary, all...)
}

// l3fwdPeer is l3fwd with a look-up, and a file of rules for each IP version.
func l3fwdPeer(lookup string, files func() (v4, v6 string, err error)) peer {
	return peer{"l3fwd " + lookup, func(_ context.Context, b *bench, _ *row) (forwarding, error) {
		if b.l3fwd.binary == "" {
			return nil, errors.New("l3fwd could not be built (hack/l3fwd.sh)")
		}
		v4, v6, err := files()
		if err != nil {
			return nil, err
		}
		f4, f6 := filepath.Join(b.scratch, "l3fwd-"+lookup+"-v4"), filepath.Join(b.scratch, "l3fwd-"+lookup+"-v6")
		args := []string{"--lookup", lookup, "--rule_ipv4", f4, "--rule_ipv6", f6}
		return once(func(ctx context.Context, r replay) (*deviceReport, error) { return b.l3fwd.run(ctx, r, args) }),
			errors.Join(os.WriteFile(f4, []byte(v4), 0o644), os.WriteFile(f6, []byte(v6), 0o644))
	}}
}

// l3fwdRoutes is l3fwd with the routes of a table.
func l3fwdRoutes(lookup string, prefixes func() ([]netip.Prefix, error)) peer {
	return l3fwdPeer(lookup, func() (v4, v6 string, err error) {
		list, err := prefixes()
		var b strings.Builder
		for _, p := range list {
			if p.Bits() == 0 { // rte_lpm knows no such prefix
				b.WriteString("R0.0.0.0/1 0\nR128.0.0.0/1 0\n")
				continue
			}
			fmt.Fprintf(&b, "R%s 0\n", p)
		}
		return b.String(), "R2001:0db8:0000:0000:0000:0000:0000:0000/32 0\n", err
	})
}

// fewRoutes are those of router().
func fewRoutes() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, r := range router("rt").Router.Routes {
		out = append(out, netip.MustParsePrefix(string(r.Prefix)))
	}
	return out, nil
}

// manyRoutes are a table's, and the default route.
func manyRoutes(data string) func() ([]netip.Prefix, error) {
	return func() ([]netip.Prefix, error) {
		list, err := table(data)
		return append(list, netip.MustParsePrefix("0.0.0.0/0")), err
	}
}

// l3fwdACL is l3fwd with the rules of a set: odd lines forward, even lines drop. It knows no TCP flags, so it decides a few packets otherwise.
func l3fwdACL(file string) peer {
	return l3fwdPeer("acl", func() (v4, v6 string, err error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		var b strings.Builder
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fields := strings.Fields(strings.TrimPrefix(line, "@"))
			if len(fields) < 9 {
				return "", "", fmt.Errorf("%s:%d: %d fields, want 9", file, i+1, len(fields))
			}
			rule := strings.Join(fields[:9], " ")
			if i%2 == 0 {
				fmt.Fprintf(&b, "R%s 0\n", rule)
			} else {
				fmt.Fprintf(&b, "@%s\n", rule)
			}
		}
		return b.String(), "R0000:0000:0000:0000:0000:0000:0000:0000/0 0000:0000:0000:0000:0000:0000:0000:0000/0 0 : 65535 0 : 65535 0x00/0x00 0\n", nil
	})
}
