package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/packets"
)

const dataFolder = "../data"

// protocols counts TCP and UDP frames, and different ones.
func protocols(frames [][]byte) (tcp, udp, different int) {
	seen := map[string]bool{}
	for _, f := range frames {
		switch f[14+9] {
		case packets.ProtoTCP:
			tcp++
		case packets.ProtoUDP:
			udp++
		}
		seen[string(f)] = true
	}
	return tcp, udp, len(seen)
}

func TestMixedFlowsAreHalfTCPAndHalfUDPOfTheSizeAsked(t *testing.T) {
	for _, size := range []int{60, 512, 1500} {
		frames := mixedFlows(rand.New(rand.NewPCG(1, 1)), 4000, size)
		tcp, udp, different := protocols(frames)
		if tcp < 1800 || udp < 1800 || different != 4000 {
			t.Errorf("%d TCP and %d UDP frames, %d different: want half each, all different", tcp, udp, different)
		}
		for _, f := range frames {
			if len(f) != size {
				t.Fatalf("a frame of %d bytes, want %d", len(f), size)
			}
		}
	}
}

func TestZipfsFirstFlowComesTwiceAsOftenAsTheSecond(t *testing.T) {
	flows := [][]byte{{0}, {1}, {2}, {3}}
	var n [4]float64
	for _, f := range zipf(rand.New(rand.NewPCG(1, 1)), flows, 25_000) {
		n[f[0]]++
	}
	for k := range n {
		if got, want := n[k]/n[0], 1/float64(k+1); got < want*0.9 || got > want*1.1 {
			t.Errorf("flow %d comes %.3f times as often as the first, want %.3f", k, got, want)
		}
	}
}

func TestAFirewallsFlowsAreAcceptedAndOfBothProtocols(t *testing.T) {
	rules, err := readRules(rulesFile(dataFolder, "acl1_8550"))
	if err != nil {
		t.Fatal(err)
	}
	frames, err := rules.flows(rand.New(rand.NewPCG(1, 1)), 2000)
	if err != nil {
		t.Fatal(err)
	}
	if tcp, udp, _ := protocols(frames); tcp != 1000 || udp != 1000 {
		t.Errorf("%d TCP and %d UDP frames, want 1000 each", tcp, udp)
	}
	for _, f := range frames {
		if dst := uint32(f[30])<<24 | uint32(f[31])<<16 | uint32(f[32])<<8 | uint32(f[33]); unroutable(dst) {
			t.Errorf("a frame to %d.%d.%d.%d, which is unroutable", f[30], f[31], f[32], f[33])
		}
	}
}

func TestTheTableHasAllRoutesAndEachNextHopItsShare(t *testing.T) {
	list, err := table(dataFolder)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 901_899 {
		t.Errorf("%d routes, want 901899", len(list))
	}
	var of [nextHops]int
	for _, p := range list {
		of[hopOf(p)]++
	}
	for i, n := range of {
		if n < len(list)/nextHops*8/10 || n > len(list)/nextHops*12/10 {
			t.Errorf("next hop %d has %d of %d routes, want about a sixteenth", i, n, len(list))
		}
	}
}

func TestL3fwdGetsARulePerLineAndDropsThoseOfEvenLines(t *testing.T) {
	b := &bench{l3fwd: l3fwd{binary: "l3fwd"}, scratch: t.TempDir()}
	if _, err := l3fwdACL(rulesFile(dataFolder, "acl1_251")).open(t.Context(), b, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.scratch, "l3fwd-acl-v4"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 251 {
		t.Fatalf("%d rules, want 251", len(lines))
	}
	for i, line := range lines {
		if want := "R@"[i%2]; line[0] != want {
			t.Errorf("line %d begins with %c, want %c", i+1, line[0], want)
		}
	}
	if want := "R167.175.12.2/32 56.35.84.129/32 0 : 65535 14753 : 14753 0x06/0xFF 0"; lines[0] != want {
		t.Errorf("first rule %q, want %q", lines[0], want)
	}
}

func TestPacketsThatAreSentOnceSufficeForWhatIsMeasured(t *testing.T) {
	for _, r := range rows(dataFolder) {
		warmup, measured := r.traffic.schedule(r.traffic.flows)
		if r.traffic.once && (warmup < r.traffic.before || measured < 200_000 || warmup+measured > r.traffic.flows) {
			t.Errorf("%s: of %d packets %d come before those that are measured, want at least %d, and %d are measured, want at least 200,000",
				r.Name, r.traffic.flows, warmup, r.traffic.before, measured)
		}
	}
}

func TestRowsHaveNamesOfTheirOwnAndPatternsChooseThem(t *testing.T) {
	all := rows(dataFolder)
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r.Name] {
			t.Errorf("two rows are called %s", r.Name)
		}
		seen[r.Name] = true
	}
	some, err := chosen(all, "napts-1-*", nameOf)
	if err != nil || len(some) == 0 || len(some) == len(all) {
		t.Errorf("napts-1-* chooses %d of %d rows: %v", len(some), len(all), err)
	}
	if two, err := chosen(all, "routers-1,routers-1*,napts-1-1k", nameOf); err != nil || len(two) != 3 {
		t.Errorf("three patterns choose %d rows, want routers-1, routers-10 and napts-1-1k: %v", len(two), err)
	}
	if _, err := chosen(all, "nat-1", nameOf); err == nil {
		t.Error("a pattern that no row has is not refused")
	}
}
