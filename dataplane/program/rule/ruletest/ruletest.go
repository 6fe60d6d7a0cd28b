// Package ruletest has what tests of the rules of packet programs share: a small program, and examples that are it with a change.
package ruletest

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Example is a program next to the bounds of a rule.
type Example struct {
	Name string
	// Says is in the messages of both readers, Go's and the engine's; none: they accept the program.
	Says  []string
	spoil func(*programpb.Program)
}

// Accepted is the sample with a change that keeps the rules.
func Accepted(name string, change func(*programpb.Program)) Example {
	return Example{Name: name, spoil: change}
}

// Refused is the sample with a change that breaks a rule, and what messages say of it.
func Refused(name string, change func(*programpb.Program), says ...string) Example {
	return Example{Name: name, spoil: change, Says: says}
}

// Program is the example's program.
func (e Example) Program() *programpb.Program {
	p := Sample()
	e.spoil(p)
	return p
}

// Judge tests that each example is decoded or refused as it says.
func Judge(t *testing.T, examples []Example) {
	t.Helper()
	for _, e := range examples {
		b, err := program.Encode(e.Program())
		if err != nil {
			t.Fatal(err)
		}
		_, err = program.Decode(b)
		if (err != nil) != (len(e.Says) > 0) {
			t.Errorf("%s: got %v, want %q", e.Name, err, e.Says)
			continue
		}
		for _, s := range e.Says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: got %q, want %q in it", e.Name, err, s)
			}
		}
	}
}

// FirstLeg is the leg of the sample that has operations.
func FirstLeg(p *programpb.Program) *programpb.Leg {
	return p.GetSegments()[0].GetClasses()[0].GetLegs()[0]
}

// Op is an operation of the first leg.
func Op(p *programpb.Program, i int) *programpb.Op { return FirstLeg(p).GetOps()[i] }

// Many repeats an element.
func Many[T any](n int, make func(i int) T) []T {
	var out []T
	for i := range n {
		out = append(out, make(i))
	}
	return out
}
