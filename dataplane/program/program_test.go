package program

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// sample is a small program that uses every part of the schema once.
func sample() *programpb.Program {
	drop := &programpb.Leg{Outcome: &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: 0}}}}
	whole := func(class uint32) *programpb.Table { return &programpb.Table{Classes: []uint32{class}} }
	return &programpb.Program{
		Schema: SchemaVersion, LongestWay: 4,
		Chain: "edge",
		Interfaces: []*programpb.Interface{
			{Name: "in", Address: 0x0a000001, PrefixLen: 24, Mtu: 1500, Neighbors: []*programpb.Neighbor{{Address: 0x0a000002, Mac: make([]byte, 6)}}},
			{Name: "out", Address: 0xc0000201, PrefixLen: 24, Mtu: 1500, Mac: make([]byte, 6), Segment: 1},
		},
		Tables:     []*programpb.StateTable{{Name: "nat", Pool: []*programpb.AddressRange{{First: 0xc0000210, Last: 0xc0000211}}, PortMin: 1024, PortMax: 65535, MaxSessions: 10}},
		Runs:       []*programpb.Run{{Name: "nat", Table: 0, Segment: 2}},
		Generators: []*programpb.Generator{{Name: "ttl", Type: 11, Segment: 2}},
		Counters:   []string{"seen"},
		Reasons:    []string{"denied"},
		Segments: []*programpb.Segment{
			{
				Name: "in", TtlFloor: 2, Low: whole(1),
				Table: &programpb.Table{
					Dims:     []programpb.Field{programpb.Field_SRC, programpb.Field_DPORT},
					Bounds:   []uint32{0x0a000000, 0x0affffff, 0, 1023, 0, 0xffffffff, 0, 65536},
					Bits:     []*programpb.BitSet{{Field: programpb.Field_PROTO, Ranges: []uint32{6, 6, 17, 17}}},
					Required: []uint64{1, 0},
					Classes:  []uint32{0, 1},
				},
				Classes: []*programpb.Class{
					{Legs: []*programpb.Leg{{
						Ops: []*programpb.Op{
							{Op: &programpb.Op_AddTtl{AddTtl: -1}},
							{Op: &programpb.Op_StateForward{StateForward: 0}},
							{Op: &programpb.Op_Set{Set: &programpb.SetField{Field: programpb.Field_DSCP, Value: 46}}},
							{Op: &programpb.Op_NextHop{NextHop: 0xc0000202}},
						},
						Outcome: &programpb.Leg_Output{Output: 1}, Counters: []uint32{0},
					}}},
					{Legs: []*programpb.Leg{drop}},
				},
			},
			{Name: "out", Table: whole(0), Classes: []*programpb.Class{{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_StateReturn{}}}}}},
			{Name: "back", Table: whole(0), Classes: []*programpb.Class{{Legs: []*programpb.Leg{{Outcome: &programpb.Leg_Output{}}}}}},
		},
	}
}

func TestAProgramSurvivesEncodingAndItsBytesAreAlwaysTheSame(t *testing.T) {
	a, err := Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Encode(sample())
	if !bytes.Equal(a, b) || Hash(a) != Hash(b) {
		t.Error("two encodings of one program differ")
	}
	p, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(p, sample()) {
		t.Errorf("decoded %v, want %v", p, sample())
	}
}

func TestAProgramOfAnotherReleaseIsRefusedWithTheWayOut(t *testing.T) {
	p := sample()
	p.Schema = 7
	b, _ := Encode(p)
	_, err := Decode(b)
	var schema *SchemaError
	if !errors.As(err, &schema) || schema.Schema != 7 {
		t.Fatalf("got %v, want a SchemaError", err)
	}
	want := "program has schema 7, this Sinter reads schema 2: synthesize the chain again with this release"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestBytesThatAreNoProgramAreRefused(t *testing.T) {
	if _, err := Decode([]byte("apiVersion: v1")); err == nil {
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
			p := sample()
			c.damage(p)
			if err := Validate(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(p)
		if err != nil {
			t.Fatalf("a decoded program cannot be encoded: %v", err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("an encoded program cannot be decoded: %v", err)
		}
	})
}
