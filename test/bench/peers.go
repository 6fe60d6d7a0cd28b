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

// peer is another program that forwards the same packets.
type peer struct {
	name string
	mode string // testpmd's forwarding mode; empty: l3fwd
	// l3fwd's arguments; files that it reads go to a folder.
	args func(dir string) ([]string, error)
}

// peerResult is a peer's medians over the passes.
type peerResult struct {
	Name      string   `json:"name"`
	Cycles    float64  `json:"cycles"`
	Ratio     float64  `json:"ratio"` // to the baseline
	Interval  interval `json:"ratio_interval"`
	Forwarded float64  `json:"forwarded_share"`
}

var (
	testpmdIO      = peer{name: "testpmd io", mode: "io"}
	testpmdMACSwap = peer{name: "testpmd macswap", mode: "macswap"}
)

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

// l3fwdRoutes is l3fwd with the routes of a table, or with those of router() if there is none.
func l3fwdRoutes(lookup string, prefixes func() ([]netip.Prefix, error)) peer {
	return peer{name: "l3fwd " + lookup, args: func(dir string) ([]string, error) {
		list, err := prefixes()
		if err != nil {
			return nil, err
		}
		var v4 strings.Builder
		for _, p := range list {
			if p.Bits() == 0 { // rte_lpm knows no such prefix
				v4.WriteString("R0.0.0.0/1 0\nR128.0.0.0/1 0\n")
				continue
			}
			fmt.Fprintf(&v4, "R%s 0\n", p)
		}
		return l3fwdFiles(dir, lookup, v4.String(), "R2001:0db8:0000:0000:0000:0000:0000:0000/32 0\n")
	}}
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
	return peer{name: "l3fwd acl", args: func(dir string) ([]string, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var v4 strings.Builder
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fields := strings.Fields(strings.TrimPrefix(line, "@"))
			if len(fields) < 9 {
				return nil, fmt.Errorf("%s:%d: %d fields, want 9", file, i+1, len(fields))
			}
			rule := strings.Join(fields[:9], " ")
			if i%2 == 0 {
				fmt.Fprintf(&v4, "R%s 0\n", rule)
			} else {
				fmt.Fprintf(&v4, "@%s\n", rule)
			}
		}
		const v6 = "R0000:0000:0000:0000:0000:0000:0000:0000/0 0000:0000:0000:0000:0000:0000:0000:0000/0 0 : 65535 0 : 65535 0x00/0x00 0\n"
		return l3fwdFiles(dir, "acl", v4.String(), v6)
	}}
}

func l3fwdFiles(dir, lookup, v4, v6 string) ([]string, error) {
	f4, f6 := filepath.Join(dir, "l3fwd-"+lookup+"-v4"), filepath.Join(dir, "l3fwd-"+lookup+"-v6")
	err := errors.Join(os.WriteFile(f4, []byte(v4), 0o644), os.WriteFile(f6, []byte(v6), 0o644))
	return []string{"--lookup", lookup, "--rule_ipv4", f4, "--rule_ipv6", f6}, err
}
