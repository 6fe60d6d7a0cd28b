package main

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func TestRowsWithWiresCompileWithTheirFunctionsAndWithout(t *testing.T) {
	b := &bench{scratch: t.TempDir()}
	for _, r := range append(wireRows(dataFolder), memifRow()) {
		if r.stops() == 0 || len(wires(r.fns)) < r.stops() {
			t.Errorf("%s: %d functions on wires, and %d of %d others", r.name, r.stops(), len(r.without()), len(r.fns))
		}
		for want, fns := range map[int]functions{len(wires(r.fns)): r.fns, 0: r.without()} {
			path, err := b.compile(merged(r.name, fns))
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var p programpb.Program
			if err := proto.Unmarshal(data, &p); err != nil {
				t.Fatal(err)
			}
			var wires int
			for _, i := range p.GetInterfaces() {
				if i.GetWire() {
					wires++
				}
			}
			if wires != want {
				t.Errorf("%s: %d wires, want %d", r.name, wires, want)
			}
		}
	}
}

func TestTheReportOfWiresTellsWhichOnesCostTooMuch(t *testing.T) {
	in := interval{Low: 99.04, High: 101.26}
	text := wiresReport([]*wireResult{
		{name: "cheap", stops: 1, flows: 1000, cycles: 200, without: 100, wire: 100, interval: in},
		{name: "dear", stops: 2, flows: 1000, cycles: 430, without: 100, wire: 165, interval: in, busy: 1},
	}, 7)
	for _, want := range []string{
		"| cheap | 1 | 1000 | 200.0 | 100.0 | 100.0 | 99.0–101.3 | met |",
		"| dear | 2 | 1000 | 430.0 | 100.0 | 165.0 | 99.0–101.3 | missed by 10 %, machine busy |",
		"passes: 7; at most 150 are wanted",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestTheReportOfSharedMemoryTellsWhatWasMissedLostAndLate(t *testing.T) {
	m := &memifResult{
		wireResult: wireResult{name: "chain", stops: 1, flows: 8192, cycles: 340, without: 100, wire: 240, interval: interval{Low: 230, High: 570}},
		loads:      []memifLoad{{0.8, 6_100_000, 7, 99_500, 500, 3}},
	}
	for _, want := range []string{
		"| chain | 8192 | 340.0 | 100.0 | 240.0 | 230.0–570.0 | missed by 60 % |",
		"| 80 % | 6.10 | 7 | 100000 | 500 (0.50 %) | 3 |",
	} {
		if text := m.report(); !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
