package program

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

var update = flag.Bool("update", false, "write testdata/rules again")

// rules are programs that both readers of programs judge: Validate here, the engine's loader in dataplane/engine/test/test_rules.c.
// Each file of testdata/rules is one; its line in the file "index" has its name, and what a message says of it if it is
// refused.
var rules = filepath.Join("testdata", "rules")

// example is a program next to the bounds of a rule.
type example struct {
	name  string
	spoil func(*programpb.Program)
	says  []string // in the messages of both; none: accepted
}

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

func firstLeg(p *programpb.Program) *programpb.Leg { return p.Segments[0].Classes[0].Legs[0] }

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

// many repeats an element.
func many[T any](n int, make func(i int) T) []T {
	var out []T
	for i := range n {
		out = append(out, make(i))
	}
	return out
}

func interfaces(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Interfaces = many(n, func(i int) *programpb.Interface {
			return &programpb.Interface{Name: fmt.Sprint("if", i), Address: uint32(i), PrefixLen: 32, Mtu: 68}
		})
	}
}

func stateTables(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Tables = many(n, func(i int) *programpb.StateTable {
			return &programpb.StateTable{
				Name: fmt.Sprint("nat", i), Pool: []*programpb.AddressRange{{First: uint32(i), Last: uint32(i)}}, PortMin: 1024, PortMax: 1151, MaxSessions: 1,
			}
		})
	}
}

func runs(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Runs = many(n, func(i int) *programpb.Run { return &programpb.Run{Name: fmt.Sprint("run", i)} })
	}
}

func legs(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		c := p.Segments[0].Classes[1]
		c.Legs = many(n, func(int) *programpb.Leg { return c.Legs[0] })
	}
}

func ops(n int) func(*programpb.Program) {
	return func(p *programpb.Program) {
		l := firstLeg(p)
		l.Ops = many(n, func(int) *programpb.Op { return addTTL(-1) })
	}
}

func counters(n int) func(*programpb.Program) {
	return func(p *programpb.Program) { firstLeg(p).Counters = make([]uint32, n) }
}

func TestTheRulesAreThoseOfTheExamplesThatTheEngineReadsToo(t *testing.T) {
	if *update {
		if err := os.RemoveAll(rules); err != nil {
			t.Fatal(err)
		}
	}
	var index strings.Builder
	for _, e := range slicesOf(acceptedExamples, countExamples, indexExamples, tableExamples, legExamples, inspectExamples, meterExamples, balancerExamples, trackingExamples, subscriberExamples, translationExamples, flowExamples) {
		p := sample()
		e.spoil(p)
		fmt.Fprintf(&index, "%s\t%s\n", e.name, strings.Join(e.says, "\t"))
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, e.name, b)
		_, err = Decode(b)
		if (err != nil) != (len(e.says) > 0) {
			t.Errorf("%s: got %v, want %q", e.name, err, e.says)
			continue
		}
		for _, s := range e.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: got %q, want %q in it", e.name, err, s)
			}
		}
	}
	// What Go does not even encode: a name that is no UTF-8.
	b, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("denied"), []byte("d\xc0\xafied"), 1)
	if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("a name that is no UTF-8: got %v", err)
	}
	kept(t, "name-no-utf-8", b)
	index.WriteString("name-no-utf-8\tUTF-8\n")
	kept(t, "index", []byte(index.String()))
}

func slicesOf(lists ...[]example) (all []example) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
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
