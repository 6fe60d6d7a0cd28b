package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the report's figures into the pages that name them")

// figure is a number in a page, which a report of `make bench` must have. Its place is a regular expression with one group: the number.
type figure struct {
	page, place string
	of          func(map[string]result) string
}

func cycles(row string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.0f", r[row].Cycles) }
}

func apart(row string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.0f", r[row].Apart) }
}

// peerCycles are those of another program in a row.
func peerCycles(row, name string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.0f", ofPeer(r[row], name)) }
}

// ofPeer are a peer's cycles in a result, 0 if it was not measured.
func ofPeer(r result, name string) float64 {
	for _, p := range r.Peers {
		if p.Name == name {
			return p.Cycles
		}
	}
	return 0
}

// times is how many times the cycles of another row one takes.
func times(row, other string) func(map[string]result) string {
	return func(r map[string]result) string { return fmt.Sprintf("%.1f", r[row].Cycles/r[other].Cycles) }
}

var figures = []figure{
	{"README.md", `\| ten NAPTs in a row, 10,000 flows \| (\S+) \|`, cycles("napts-10-10k")},
	{"README.md", `\| (\S+): the same ten, one by one, in the same engine \|`, apart("napts-10-10k")},
	{"README.md", `\| one NAPT, 1,000 flows \| (\S+) \|`, cycles("napts-1-1k")},
	{"README.md", `\| (\S+): Open vSwitch with DPDK;`, peerCycles("napts-1-1k", "OVS conntrack NAT")},
	{"README.md", `with DPDK; (\S+): Linux nftables \|`, peerCycles("napts-1-1k", "kernel nftables snat")},
	{"README.md", `\| a firewall of 713 rules, with a new header each time \| (\S+) \|`, cycles("acl1-713-new-headers")},
	{"README.md", `\| (\S+): DPDK's l3fwd-acl \|`, peerCycles("acl1-713-new-headers", "l3fwd acl")},
	{"README.md", `opens a flow, a NAPT takes (\S+) cycles`, cycles("napts-1-new-flows")},
	{"README.md", `cycles, and Open vSwitch (\S+)\.\n`, peerCycles("napts-1-new-flows", "OVS conntrack NAT")},
	{"README.md", `One router alone takes (\S+) cycles`, cycles("routers-1")},
	{"README.md", `where DPDK's l3fwd takes (\S+)\.\n`, peerCycles("routers-1", "l3fwd fib")},
	{"README.md", `before one of 713 takes (\S+) cycles for`, cycles("row-acl1-8550-fw1-713-new-headers")},
	{"README.md", `headers, and (\S+) one by one`, apart("row-acl1-8550-fw1-713-new-headers")},
	{"docs/language.md", `with two lists take (\S+) times the cycles that they take`, times("monitor-isp-acl1-8550-10k", "isp-acl1-8550-10k")},
	{"docs/language.md", `without it; (\S+) times with 100,000 flows`, times("monitor-isp-acl1-8550-100k", "isp-acl1-8550-100k")},
	{"docs/language.md", `on a core, and (\S+) times with a million`, times("monitor-isp-acl1-8550-1m", "isp-acl1-8550-1m")},
}

// claim is a sentence of a page that compares figures without their numbers.
type claim struct {
	page, words string
	holds       func(map[string]result) bool
}

var claims = []claim{
	{"README.md", "Functions in a row cost what one costs", func(r map[string]result) bool {
		return r["napts-10-10k"].Cycles < 1.1*r["napts-1-10k"].Cycles && r["routers-10"].Cycles < 1.1*r["routers-1"].Cycles
	}},
	{"README.md", "Of the rows with a NAPT and known flows, row 2 is the one in which Open vSwitch comes nearest", func(r map[string]result) bool {
		nearest, measured, least := "", 0, math.Inf(1)
		for name, one := range r {
			peer := max(ofPeer(one, "OVS conntrack NAT"), ofPeer(one, "OVS flows, conntrack NAT"))
			if peer == 0 || strings.HasSuffix(name, "-new-flows") {
				continue
			}
			measured++
			if times := peer / one.Cycles; times < least {
				nearest, least = name, times
			}
		}
		return measured > 7 && nearest == "napts-1-1k"
	}},
	{"README.md", "In row 3, l3fwd-acl is faster", func(r map[string]result) bool {
		const row = "acl1-713-new-headers"
		return 0 < ofPeer(r[row], "l3fwd acl") && ofPeer(r[row], "l3fwd acl") < r[row].Cycles
	}},
	{"README.md", "Merging does not always gain", func(r map[string]result) bool {
		one := r["row-acl1-8550-fw1-713-new-headers"]
		return one.Apart < 1.1*one.Cycles
	}},
}

func TestPagesClaimWhatTheReportShows(t *testing.T) {
	stored, err := readStored("../../docs/bench/results.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		text, err := os.ReadFile(filepath.Join("../..", c.page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.words) {
			t.Errorf("%s does not say %q any more", c.page, c.words)
		}
		if !c.holds(stored) {
			t.Errorf("%s says %q; by the report that is wrong", c.page, c.words)
		}
	}
}

// TestPagesHaveTheFiguresOfTheReport compares them; with -update it writes them.
func TestPagesHaveTheFiguresOfTheReport(t *testing.T) {
	const root = "../.."
	stored, err := readStored(filepath.Join(root, "docs/bench/results.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		path := filepath.Join(root, f.page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := regexp.MustCompile(f.place).FindSubmatchIndex(text)
		if at == nil {
			t.Errorf("%s: no figure at %q", f.page, f.place)
			continue
		}
		has, want := string(text[at[2]:at[3]]), f.of(stored)
		if has == want {
			continue
		}
		if !*update {
			t.Errorf("%s says %s at %q, the report %s; run go test ./test/bench -update", f.page, has, f.place, want)
			continue
		}
		out := string(text[:at[2]]) + want + string(text[at[3]:])
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A row that is gone or renamed must not leave a figure of nothing.
func TestFiguresAreOfRowsThatAreMeasured(t *testing.T) {
	known := map[string]result{}
	for _, r := range rows(dataFolder) {
		one := result{Cycles: 1}
		if r.apart {
			one.Apart = 1
		}
		for _, p := range r.peers {
			one.Peers = append(one.Peers, peerResult{Name: p.name, Cycles: 1})
		}
		known[r.Name] = one
	}
	for _, f := range figures {
		if got := f.of(known); got != "1" && got != "1.0" {
			t.Errorf("%s, %q: its row is not measured", f.page, f.place)
		}
	}
}
