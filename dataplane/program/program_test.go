package program_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func TestAProgramSurvivesEncodingAndItsBytesAreAlwaysTheSame(t *testing.T) {
	a, err := program.Encode(ruletest.Sample())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := program.Encode(ruletest.Sample())
	if !bytes.Equal(a, b) || program.Hash(a) != program.Hash(b) {
		t.Error("two encodings of one program differ")
	}
	p, err := program.Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(p, ruletest.Sample()) {
		t.Errorf("decoded %v, want %v", p, ruletest.Sample())
	}
}

func TestAProgramOfAnotherReleaseIsRefusedWithTheWayOut(t *testing.T) {
	p := ruletest.Sample()
	p.Schema = 7
	b, _ := program.Encode(p)
	_, err := program.Decode(b)
	var schema *program.SchemaError
	if !errors.As(err, &schema) || schema.Schema != 7 {
		t.Fatalf("got %v, want a SchemaError", err)
	}
	want := "program has schema 7, this Sinter reads schema 2: synthesize the chain again with this release"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestBytesThatAreNoProgramAreRefused(t *testing.T) {
	if _, err := program.Decode([]byte("apiVersion: v1")); err == nil {
		t.Error("YAML was taken for a program")
	}
}

func TestValidateNamesThePlaceOfWhatDoesNotFit(t *testing.T) {
	seg := func(p *programpb.Program) *programpb.Segment { return p.Segments[0] }
	leg := func(p *programpb.Program) *programpb.Leg { return p.Segments[0].Classes[0].Legs[0] }
	for name, c := range map[string]struct {
		damage func(*programpb.Program)
		want   string
	}{
		"an interface starts in a segment that is not there": {
			func(p *programpb.Program) { p.Interfaces[0].Segment = 9 },
			"interfaces[0] (in): segment is 9, but there are only 3",
		},
		"a MAC address is short":         {func(p *programpb.Program) { p.Interfaces[1].Mac = []byte{1} }, "mac has 1 bytes"},
		"a neighbour has no MAC address": {func(p *programpb.Program) { p.Interfaces[0].Neighbors[0].Mac = nil }, "neighbors[0]: mac has 0 bytes"},
		"the MTU is impossible":          {func(p *programpb.Program) { p.Interfaces[0].Mtu = 20 }, "mtu is 20"},
		"a pool is empty":                {func(p *programpb.Program) { p.Tables[0].Pool = nil }, "pool is empty"},
		"a pool is reversed":             {func(p *programpb.Program) { p.Tables[0].Pool[0].First = 0xffffffff }, "want an ascending range"},
		"a port range is reversed":       {func(p *programpb.Program) { p.Tables[0].PortMin = 70000 }, "ports are 70000-65535"},
		"a run has no table":             {func(p *programpb.Program) { p.Runs[0].Table = 1 }, "runs[0] (nat): table is 1"},
		"a generator's kind is unknown":  {func(p *programpb.Program) { p.Generators[0].Kind = 9 }, "kind 9 is unknown"},
		"a table has no boxes":           {func(p *programpb.Program) { seg(p).Table.Classes = nil }, "has 0 boxes"},
		"the low table is missing":       {func(p *programpb.Program) { seg(p).Low = nil }, "low: is missing"},
		"bounds are missing":             {func(p *programpb.Program) { seg(p).Table.Bounds = nil }, "has 0 bounds, want 8"},
		"required words are missing":     {func(p *programpb.Program) { seg(p).Table.Required = nil }, "has 0 required words, want 2"},
		"a required bit has no set":      {func(p *programpb.Program) { seg(p).Table.Required[1] = 2 }, "box 1: requires a bit beyond"},
		"a box's class is not there":     {func(p *programpb.Program) { seg(p).Table.Classes[1] = 5 }, "classes[1] is 5"},
		"a dimension is twice there":     {func(p *programpb.Program) { seg(p).Table.Dims[1] = programpb.Field_SRC }, "twice"},
		"a field is no dimension":        {func(p *programpb.Program) { seg(p).Table.Dims[1] = programpb.Field_PROTO }, "no dimension"},
		"a box is reversed":              {func(p *programpb.Program) { seg(p).Table.Bounds[2] = 2000 }, "box 0: DPORT 2000-1023"},
		"a bit set has half a range":     {func(p *programpb.Program) { seg(p).Table.Bits[0].Ranges = []uint32{1} }, "want pairs"},
		"a bit set is not ascending":     {func(p *programpb.Program) { seg(p).Table.Bits[0].Ranges = []uint32{6, 6, 1, 1} }, "bits[0]: PROTO 1-1"},
		"a class does nothing":           {func(p *programpb.Program) { seg(p).Classes[0].Legs = nil }, "has 0 legs"},
		"a leg ends nowhere":             {func(p *programpb.Program) { leg(p).Outcome = nil }, "has no outcome"},
		"an output is not there":         {func(p *programpb.Program) { leg(p).Outcome = &programpb.Leg_Output{Output: 2} }, "output is 2"},
		"a counter is not there":         {func(p *programpb.Program) { leg(p).Counters[0] = 1 }, "counters[0] is 1"},
		"a drop has no reason":           {func(p *programpb.Program) { seg(p).Classes[1].Legs[0].GetDrop().Reason = nil }, "drop has no reason"},
		"an operation is empty":          {func(p *programpb.Program) { leg(p).Ops[0].Op = nil }, "ops[0]: is empty"},
		"a field cannot be set": {
			func(p *programpb.Program) { leg(p).Ops[2].GetSet().Field = programpb.Field_PROTO },
			"ops[2]: field PROTO cannot be set",
		},
		"a value is too large for its field": {func(p *programpb.Program) { leg(p).Ops[2].GetSet().Value = 64 }, "set DSCP is 64, want at most 63"},
		"segments lead in a circle": {func(p *programpb.Program) {
			p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Segment{Segment: 2}
		}, "segments[2] (back): leads back to itself"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ruletest.Sample()
			c.damage(p)
			if err := program.Validate(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	b, err := program.Encode(ruletest.Sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := program.Decode(b)
		if err != nil {
			return
		}
		again, err := program.Encode(p)
		if err != nil {
			t.Fatalf("a decoded program cannot be encoded: %v", err)
		}
		if _, err := program.Decode(again); err != nil {
			t.Fatalf("an encoded program cannot be decoded: %v", err)
		}
	})
}
