package ruletest

import (
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Sample is a small program that uses every part of the schema once.
func Sample() *programpb.Program {
	drop := &programpb.Leg{Outcome: &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: 0}}}}
	whole := func(class uint32) *programpb.Table { return &programpb.Table{Classes: []uint32{class}} }
	return &programpb.Program{
		Schema: program.SchemaVersion, LongestWay: 4,
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
