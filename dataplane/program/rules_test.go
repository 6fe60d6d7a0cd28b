package program_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/module/all/rules/examples"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

var update = flag.Bool("update", false, "write testdata/rules again")

// rules are programs that both readers of programs judge: Validate here, the engine's loader in dataplane/engine/program/test/test_rules.c.
// Each file of testdata/rules is one; its line in the file "index" has its name, and what a message says of it if it is
// refused.
var rules = filepath.Join("testdata", "rules")

// looped is the sample with two more segments that lead back to each other, as those of two routers with default routes do.
func looped(ops ...*programpb.Op) func(*programpb.Program) {
	return func(p *programpb.Program) {
		there := connected(2, arc{0, 1, []*programpb.Op{addTTL(-1)}}, arc{1, 0, ops})
		for _, s := range there.Segments {
			for _, c := range s.Classes {
				if l := c.Legs[0]; l.GetDrop() == nil {
					l.Outcome = &programpb.Leg_Segment{Segment: l.GetSegment() + uint32(len(p.Segments))}
				}
			}
		}
		p.Segments = append(p.Segments, there.Segments...)
	}
}

// wide gives the first segment's table so many bit sets, and requires the last of them.
func wide(bits int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		t := p.Segments[0].Table
		t.Bits = nil
		for i := range bits {
			t.Bits = append(t.Bits, &programpb.BitSet{Field: programpb.Field_TCP_FLAGS, Ranges: []uint32{uint32(i % 256), uint32(i % 256)}})
		}
		words := (bits + 63) / 64
		t.Required = make([]uint64, 2*words)
		t.Required[words-1] = 1 << ((bits - 1) % 64)
	}
}

func interfaces(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Interfaces = ruletest.Many(n, func(i int) *programpb.Interface {
			return &programpb.Interface{Name: fmt.Sprint("if", i), Address: uint32(i), PrefixLen: 32, Mtu: 68}
		})
	}
}

func stateTables(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Tables = ruletest.Many(n, func(i int) *programpb.StateTable {
			return &programpb.StateTable{
				Name: fmt.Sprint("nat", i), Pool: []*programpb.AddressRange{{First: uint32(i), Last: uint32(i)}}, PortMin: 1024, PortMax: 1151, MaxSessions: 1,
			}
		})
	}
}

func runs(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Runs = ruletest.Many(n, func(i int) *programpb.Run { return &programpb.Run{Name: fmt.Sprint("run", i)} })
	}
}

func legs(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		c := p.Segments[0].Classes[1]
		c.Legs = ruletest.Many(n, func(int) *programpb.Leg { return c.Legs[0] })
	}
}

func ops(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		l := ruletest.FirstLeg(p)
		l.Ops = ruletest.Many(n, func(int) *programpb.Op { return addTTL(-1) })
	}
}

func counters(n int) func(*programpb.Program) {
	return func(p *programpb.Program) { ruletest.FirstLeg(p).Counters = make([]uint32, n) }
}

func TestTheRulesAreThoseOfTheExamplesThatTheEngineReadsToo(t *testing.T) {
	if *update {
		if err := os.RemoveAll(rules); err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Concat(acceptedExamples, countExamples, indexExamples, tableExamples, legExamples, examples.Programs)
	ruletest.Judge(t, all)
	var index strings.Builder
	for _, e := range all {
		fmt.Fprintf(&index, "%s\t%s\n", e.Name, strings.Join(e.Says, "\t"))
		b, err := program.Encode(e.Program())
		if err != nil {
			t.Fatal(err)
		}
		kept(t, e.Name, b)
	}
	// Go does not even encode this: a name that is no UTF-8.
	b, err := program.Encode(ruletest.Sample())
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("denied"), []byte("d\xc0\xafied"), 1)
	if _, err := program.Decode(b); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a name that is no UTF-8: got %v", err)
	}
	kept(t, "name-no-utf-8", b)
	index.WriteString("name-no-utf-8\tUTF-8\n")
	kept(t, "index", []byte(index.String()))
}

// kept compares a file of testdata/rules.
func kept(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(rules, name)
	if *update {
		if err := os.MkdirAll(rules, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not as this test writes it (%v): go test ./dataplane/program -update", path, err)
	}
}
