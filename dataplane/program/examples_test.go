package program_test

import (
	"math"

	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule/ruletest"
)

func seg0(p *programpb.Program) *programpb.Segment { return p.Segments[0] }

// set gives the first leg an operation that sets a field.
func set(f programpb.Field, v uint32) func(*programpb.Program) {
	return func(p *programpb.Program) {
		ruletest.Op(p, 2).Op = &programpb.Op_Set{Set: &programpb.SetField{Field: f, Value: v}}
	}
}

func vlans(ids ...uint32) func(*programpb.Program) {
	return func(p *programpb.Program) { p.Interfaces[0].Vlans = ids }
}

// refused gives the first interface two ranges of sources that it refuses: 1 to 7, and the given one.
func refused(first, last uint32, reason programpb.DropReason) func(*programpb.Program) {
	return func(p *programpb.Program) {
		p.Interfaces[0].Refused = []*programpb.RefusedSources{
			{First: 1, Last: 7, Reason: programpb.DropReason_DROP_OWN_SOURCE}, {First: first, Last: last, Reason: reason},
		}
	}
}

// acceptedExamples are at the bounds.
var acceptedExamples = []ruletest.Example{
	ruletest.Accepted("as-it-is", func(*programpb.Program) {}),
	ruletest.Accepted("cycle-lowers-ttl", looped()),
	ruletest.Accepted("cycle-adds-nothing", looped(addTTL(0))),
	ruletest.Accepted("longest-way-1", func(p *programpb.Program) { p.LongestWay = 1 }),
	ruletest.Accepted("longest-way-1048576", func(p *programpb.Program) { p.LongestWay = program.MaxWay }),
	ruletest.Accepted("interfaces-64", interfaces(64)),
	ruletest.Accepted("state-tables-256", stateTables(256)),
	ruletest.Accepted("runs-1024", runs(1024)),
	ruletest.Accepted("legs-64", legs(64)),
	ruletest.Accepted("ops-256", ops(256)),
	ruletest.Accepted("counters-65535", counters(65535)),
	ruletest.Accepted("bits-64", wide(64)),
	ruletest.Accepted("bits-65", wide(65)),
	ruletest.Accepted("bits-256", wide(256)),
	ruletest.Accepted("ttl-floor-256", func(p *programpb.Program) { seg0(p).TtlFloor = 256 }),
	ruletest.Accepted("answer-ttl-255", func(p *programpb.Program) { p.Interfaces[0].AnswerTtl = 255 }),
	ruletest.Accepted("mtu-65535", func(p *programpb.Program) { p.Interfaces[0].Mtu = 65535 }),
	ruletest.Accepted("set-vlan-4096", set(programpb.Field_VLAN, 4096)),
	ruletest.Accepted("set-dport-65535", set(programpb.Field_DPORT, 65535)),
	ruletest.Accepted("add-ttl-255", func(p *programpb.Program) { ruletest.Op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: -255} }),
	ruletest.Accepted("bit-set-of-nothing", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = nil }),
	ruletest.Accepted("bit-set-of-neighbours", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 6, 7, 9} }),
	ruletest.Accepted("vlans", vlans(1, 4094)),
	ruletest.Accepted("refused-neighbours", refused(8, 8, programpb.DropReason_DROP_REVERSE_PATH)),
	ruletest.Accepted("one-port", func(p *programpb.Program) { p.Tables[0].PortMin = 65535 }),
	ruletest.Accepted("no-interface", func(p *programpb.Program) {
		p.Interfaces = nil
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Segment{Segment: 1}
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Generator{}
	}),
	ruletest.Accepted("paired", func(p *programpb.Program) { p.Tables[0].Paired = true }),
	ruletest.Accepted("port-rest-a-week", func(p *programpb.Program) { p.Tables[0].PortRestMs = 604_800_000 }),
	ruletest.Accepted("two-tables", stateTables(2)),
	ruletest.Accepted("a-long-name", func(p *programpb.Program) {
		seg0(p).Name = "from a, which has a name longer than what a message shows of it"
	}),
}

var countExamples = []ruletest.Example{
	ruletest.Refused("schema-7", func(p *programpb.Program) { p.Schema = 7 }, "schema", "7", "synthesize the chain again"),
	ruletest.Refused("schema-0", func(p *programpb.Program) { p.Schema = 0 }, "schema", "synthesize the chain again"),
	ruletest.Refused("no-segments", func(p *programpb.Program) { p.Segments, p.Interfaces, p.Runs, p.Generators = nil, nil, nil, nil }, "segments: there are none, want at least one"),
	ruletest.Refused("longest-way-0", func(p *programpb.Program) { p.LongestWay = 0 }, "longest_way is 0, want 1..1048576"),
	ruletest.Refused("longest-way-1048577", func(p *programpb.Program) { p.LongestWay = 1048577 }, "longest_way is 1048577, want 1..1048576"),
	ruletest.Refused("interfaces-65", interfaces(65), "interfaces: there are 65, want at most 64"),
	ruletest.Refused("state-tables-257", stateTables(257), "tables: there are 257, want at most 256"),
	ruletest.Refused("state-tables-alike", func(p *programpb.Program) {
		stateTables(3)(p)
		p.Tables[2].Name = "nat1"
	}, "tables[2] (nat1): name is that of tables[1], want names that differ"),
	ruletest.Refused("runs-1025", runs(1025), "runs: there are 1025, want at most 1024"),
	ruletest.Refused("runs-alike", func(p *programpb.Program) {
		runs(2)(p)
		p.Runs[1].Name = "run0"
	}, "runs[1] (run0): name is that of runs[0], want names that differ"),
	ruletest.Refused("legs-0", legs(0), "segments[0] (in): classes[1]: has 0 legs, want 1..64"),
	ruletest.Refused("legs-65", legs(65), "segments[0] (in): classes[1]: has 65 legs, want 1..64"),
	ruletest.Refused("ops-257", ops(257), "segments[0] (in): classes[0].legs[0]: has 257 ops, want at most 256"),
	ruletest.Refused("counters-65536", counters(65536), "segments[0] (in): classes[0].legs[0]: has 65536 counters, want at most 65535"),
	ruletest.Refused("bits-257", wide(257), "segments[0] (in): table: has 257 bit sets, want at most 256"),
}

var indexExamples = []ruletest.Example{
	ruletest.Refused("interface-segment", func(p *programpb.Program) { p.Interfaces[0].Segment = 3 }, "interfaces[0] (in): segment is 3, but there are only 3"),
	ruletest.Refused("port-rest-604800001", func(p *programpb.Program) { p.Tables[0].PortRestMs = 604_800_001 }, "tables[0] (nat): port_rest_ms is 604800001, want at most 604800000"),
	ruletest.Refused("run-table", func(p *programpb.Program) { p.Runs[0].Table = 1 }, "runs[0] (nat): table is 1, but there are only 1"),
	ruletest.Refused("run-segment", func(p *programpb.Program) { p.Runs[0].Segment = 3 }, "runs[0] (nat): segment is 3, but there are only 3"),
	ruletest.Refused("run-single", func(p *programpb.Program) { p.Runs[0].Single = []uint32{0, 1} }, "runs[0] (nat): single[1] is 1, but there are only 1"),
	ruletest.Refused("run-singles-1025", func(p *programpb.Program) { p.Runs[0].Single = make([]uint32, 1025) }, "runs[0] (nat): single: there are 1025, want at most 1024"),
	ruletest.Refused("generator-segment", func(p *programpb.Program) { p.Generators[0].Segment = 3 }, "generators[0] (ttl): segment is 3, but there are only 3"),
	ruletest.Refused("generator-kind", func(p *programpb.Program) { p.Generators[0].Kind = 99 }, "generators[0] (ttl): kind", "99"),
	ruletest.Refused("generator-type-256", func(p *programpb.Program) { p.Generators[0].Type = 256 }, "generators[0] (ttl): type is 256, want at most 255"),
	ruletest.Refused("generator-code-256", func(p *programpb.Program) { p.Generators[0].Code = 256 }, "generators[0] (ttl): code is 256, want at most 255"),
	ruletest.Refused("interface-unnamed", func(p *programpb.Program) { p.Interfaces[1].Name = "" }, "interfaces[1] (): has no name"),
	ruletest.Refused("prefix-33", func(p *programpb.Program) { p.Interfaces[0].PrefixLen = 33 }, "interfaces[0] (in): prefix_len is 33, want at most 32"),
	ruletest.Refused("neighbor-vlan-4096", func(p *programpb.Program) { p.Interfaces[0].Neighbors[0].Vlan = 4096 }, "interfaces[0] (in)", "neighbors[0].vlan is 4096, want one of the interface's, or 0"),
	ruletest.Refused("answer-ttl-256", func(p *programpb.Program) { p.Interfaces[0].AnswerTtl = 256 }, "interfaces[0] (in): answer_ttl is 256, want 0..255"),
	ruletest.Refused("watched-itself", func(p *programpb.Program) { p.Interfaces[0].Watched = p.Interfaces[0].Address }, "interfaces[0] (in)", "want another host of the interface's network"),
	ruletest.Refused("watched-elsewhere", func(p *programpb.Program) { p.Interfaces[0].Watched = 1 }, "interfaces[0] (in)", "watched is 0x", "want another host of the interface's network"),
	ruletest.Refused("mtu-67", func(p *programpb.Program) { p.Interfaces[0].Mtu = 67 }, "interfaces[0] (in): mtu is 67, want 68..65535"),
	ruletest.Refused("mtu-65536", func(p *programpb.Program) { p.Interfaces[0].Mtu = 65536 }, "interfaces[0] (in): mtu is 65536, want 68..65535"),
	ruletest.Refused("mac-5", func(p *programpb.Program) { p.Interfaces[1].Mac = make([]byte, 5) }, "interfaces[1] (out): mac has 5 bytes, want 6 or none"),
	ruletest.Refused("neighbor-mac-0", func(p *programpb.Program) { p.Interfaces[0].Neighbors[0].Mac = nil }, "interfaces[0] (in)", "neighbors[0]: mac has 0 bytes, want 6"),
	ruletest.Refused("vlan-0", vlans(0), "interfaces[0] (in): vlans[0] is 0, want 1..4094, each above the one before"),
	ruletest.Refused("vlan-4095", vlans(7, 4095), "interfaces[0] (in): vlans[1] is 4095, want 1..4094, each above the one before"),
	ruletest.Refused("vlans-descend", vlans(7, 6), "interfaces[0] (in): vlans[1] is 6, want 1..4094, each above the one before"),
	ruletest.Refused("vlan-twice", vlans(7, 7), "interfaces[0] (in): vlans[1] is 7, want 1..4094, each above the one before"),
	ruletest.Refused("neighbor-vlan", func(p *programpb.Program) {
		vlans(7)(p)
		p.Interfaces[0].Neighbors[0].Vlan = 8
	}, "interfaces[0] (in)", "neighbors[0].vlan is 8, want one of the interface's, or 0"),
	ruletest.Refused("refused-descends", refused(9, 8, programpb.DropReason_DROP_OWN_SOURCE), "interfaces[0] (in): refused[1] is 0x9-0x8, want ascending, disjoint ranges"),
	ruletest.Refused("refused-overlaps", refused(7, 8, programpb.DropReason_DROP_OWN_SOURCE), "interfaces[0] (in): refused[1] is 0x7-0x8, want ascending, disjoint ranges"),
	ruletest.Refused("refused-reason", refused(8, 8, programpb.DropReason_DROP_MARTIAN), "interfaces[0] (in): refused[1].reason is 8, want that of a source"),
	ruletest.Refused("pool-empty", func(p *programpb.Program) { p.Tables[0].Pool = nil }, "tables[0] (nat): pool is empty"),
	ruletest.Refused("pool-descends", func(p *programpb.Program) { p.Tables[0].Pool[0].First = 0xc0000212 }, "tables[0] (nat): pool[0] is 0xc0000212-0xc0000211, want an ascending range"),
	ruletest.Refused("pool-overlaps", func(p *programpb.Program) {
		p.Tables[0].Pool = append(p.Tables[0].Pool, &programpb.AddressRange{First: 1, Last: 0xc0000210})
	}, "tables[0] (nat): pool holds 0xc0000210 twice, want disjoint ranges"),
	ruletest.Refused("ports-descend", func(p *programpb.Program) { p.Tables[0].PortMax = 1023 }, "tables[0] (nat): ports are 1024-1023, want an ascending range up to 65535"),
	ruletest.Refused("mapping-3", func(p *programpb.Program) { p.Tables[0].Mapping = 3 }, "tables[0] (nat): mapping is 3, want 0..2"),
	ruletest.Accepted("mapping-endpoint", func(p *programpb.Program) { p.Tables[0].Mapping, p.Tables[0].Filtering = 2, 2 }),
	ruletest.Refused("filtering-looser-than-mapping", func(p *programpb.Program) { p.Tables[0].Mapping, p.Tables[0].Filtering = 1, 2 }, "tables[0] (nat): filtering is 2, want at most the mapping, which is 1"),
	ruletest.Refused("port-65536", func(p *programpb.Program) { p.Tables[0].PortMax = 65536 }, "tables[0] (nat): ports are 1024-65536, want an ascending range up to 65535"),
}

var tableExamples = []ruletest.Example{
	ruletest.Refused("ttl-floor-257", func(p *programpb.Program) { seg0(p).TtlFloor = 257 }, "segments[0] (in): ttl_floor is 257, want at most 256"),
	ruletest.Refused("table-missing", func(p *programpb.Program) { seg0(p).Table = nil }, "segments[0] (in): table: is missing"),
	ruletest.Refused("low-missing-by-floor", func(p *programpb.Program) { seg0(p).Low = nil }, "segments[0] (in): low: is missing"),
	ruletest.Refused("low-missing-by-whole-only", func(p *programpb.Program) { seg0(p).TtlFloor, seg0(p).WholeOnly, seg0(p).Low = 0, true, nil }, "segments[0] (in): low: is missing"),
	ruletest.Refused("low-not-needed", func(p *programpb.Program) { seg0(p).TtlFloor, seg0(p).Low.Classes[0] = 0, 2 }, "segments[0] (in): low: classes[0] is 2, but there are only 2"),
	ruletest.Refused("no-boxes", func(p *programpb.Program) { seg0(p).Table = &programpb.Table{} }, "segments[0] (in): table: has 0 boxes"),
	ruletest.Refused("box-class", func(p *programpb.Program) { seg0(p).Table.Classes[1] = 2 }, "segments[0] (in): table: classes[1] is 2, but there are only 2"),
	ruletest.Refused("bounds-missing", func(p *programpb.Program) { seg0(p).Table.Bounds = seg0(p).Table.Bounds[:7] }, "table: has 7 bounds, want 8 (2 boxes of 2 ranges)"),
	ruletest.Refused("required-missing", func(p *programpb.Program) { seg0(p).Table.Required = []uint64{1} }, "table: has 1 required words, want 2 (2 boxes of 1)"),
	ruletest.Refused("range-descends", func(p *programpb.Program) { seg0(p).Table.Bounds[2] = 1024 }, "table: box 0: ", "1024-1023", "want an ascending range up to 65536"),
	ruletest.Refused("range-beyond", func(p *programpb.Program) { seg0(p).Table.Bounds[7] = 65537 }, "table: box 1: ", "0-65537", "want an ascending range up to 65536"),
	ruletest.Refused("dim-twice", func(p *programpb.Program) { seg0(p).Table.Dims[1] = programpb.Field_SRC }, "table: dims[1]: ", "is there twice"),
	ruletest.Refused("dim-proto", func(p *programpb.Program) { seg0(p).Table.Dims[1] = programpb.Field_PROTO }, "table: dims[1]: ", "is no dimension; use a bit set"),
	ruletest.Refused("dim-unknown", func(p *programpb.Program) { seg0(p).Table.Dims[0] = 12 }, "table: dims[0]: ", "is no dimension; use a bit set"),
	ruletest.Refused("dim-negative", func(p *programpb.Program) { seg0(p).Table.Dims[0] = -1 }, "table: dims[0]: ", "is no dimension; use a bit set"),
	ruletest.Refused("bit-field-unknown", func(p *programpb.Program) { seg0(p).Table.Bits[0].Field = 13 }, "table: bits[0]: field"),
	ruletest.Refused("bit-field-route-without-fib", func(p *programpb.Program) { seg0(p).Table.Bits[0].Field = programpb.Field_ROUTE }, "segments[0] (in): table: bits[0]: field is ROUTE, but the segment has no FIB"),
	ruletest.Refused("dim-route", func(p *programpb.Program) { seg0(p).Table.Dims[0] = programpb.Field_ROUTE }, "table: dims[0]: ", "is no dimension; use a bit set"),
	ruletest.Refused("fib-missing", func(p *programpb.Program) { seg0(p).Fib = 1 }, "segments[0] (in): fib is 1, but there are only 0"),
	ruletest.Refused("fib-hash", func(p *programpb.Program) { p.Fibs = []*programpb.Fib{{Hash: make([]byte, 31)}} }, "fibs[0]: hash has 31 bytes, want 32"),
	ruletest.Refused("fib-next-hops", func(p *programpb.Program) { p.Fibs = []*programpb.Fib{{Hash: make([]byte, 32), NextHops: 65536}} }, "fibs[0]: next_hops is 65536, want at most 65535"),
	ruletest.Refused("fibs-65", func(p *programpb.Program) { p.Fibs = make([]*programpb.Fib, 65) }, "fibs: there are 65, want at most 64"),
	ruletest.Refused("bit-half-a-range", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 6, 17} }, "table: bits[0]: has 3 range ends, want pairs"),
	ruletest.Refused("bit-descends", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{7, 6} }, "table: bits[0]: ", "7-6", "want ascending ranges up to 255"),
	ruletest.Refused("bit-ranges-descend", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{17, 17, 6, 6} }, "table: bits[0]: ", "6-6", "want ascending ranges up to 255"),
	ruletest.Refused("bit-ranges-touch", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 17, 17, 18} }, "table: bits[0]: ", "17-18", "want ascending ranges up to 255"),
	ruletest.Refused("bit-beyond", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges[3] = 256 }, "table: bits[0]: ", "17-256", "want ascending ranges up to 255"),
	ruletest.Refused("required-beyond", func(p *programpb.Program) { seg0(p).Table.Required[0] = 2 }, "table: box 0: requires a bit beyond the 1 bit sets"),
	ruletest.Refused("not-total-by-a-range", func(p *programpb.Program) { seg0(p).Table.Bounds[7] = 65535 }, "table: box 1 is the last and holds ", "0-65535 alone: want one that holds every packet"),
	ruletest.Refused("not-total-by-an-address", func(p *programpb.Program) { seg0(p).Table.Bounds[4] = 1 }, "table: box 1 is the last and holds ", "1-4294967295 alone: want one that holds every packet"),
	ruletest.Refused("not-total-by-a-bit", func(p *programpb.Program) { seg0(p).Table.Required[1] = 1 }, "table: box 1 is the last and requires bits: want one that holds every packet"),
	ruletest.Refused("low-not-total", func(p *programpb.Program) {
		seg0(p).Low = &programpb.Table{Dims: []programpb.Field{programpb.Field_TTL}, Bounds: []uint32{0, 1}, Classes: []uint32{0}}
	}, "segments[0] (in): low: box 0 is the last and holds ", "0-1 alone: want one that holds every packet"),
}

var legExamples = []ruletest.Example{
	ruletest.Refused("no-outcome", func(p *programpb.Program) { ruletest.FirstLeg(p).Outcome = nil }, "segments[0] (in): classes[0].legs[0]: has no outcome"),
	ruletest.Refused("output", func(p *programpb.Program) { ruletest.FirstLeg(p).Outcome = &programpb.Leg_Output{Output: 2} }, "classes[0].legs[0]: output is 2, but there are only 2"),
	ruletest.Refused("generator", func(p *programpb.Program) { ruletest.FirstLeg(p).Outcome = &programpb.Leg_Generator{Generator: 1} }, "classes[0].legs[0]: generator is 1, but there are only 1"),
	ruletest.Refused("segment", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Segment{Segment: math.MaxUint32}
	}, "classes[0].legs[0]: segment is 4294967295, but there are only 3"),
	ruletest.Refused("state-return", func(p *programpb.Program) { ruletest.FirstLeg(p).Outcome = &programpb.Leg_StateReturn{StateReturn: 1} }, "classes[0].legs[0]: state_return is 1, but there are only 1"),
	ruletest.Refused("drop-chain", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: 1}}}
	}, "classes[0].legs[0]: drop.chain is 1, but there are only 1"),
	ruletest.Refused("drop-none", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{}}}
	}, "classes[0].legs[0]: drop.builtin 0 is no drop reason"),
	ruletest.Refused("drop-unknown", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: 63}}}
	}, "classes[0].legs[0]: drop.builtin 63 is no drop reason"),
	ruletest.Refused("drop-negative", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: -1}}}
	}, "classes[0].legs[0]: drop.builtin -1 is no drop reason"),
	ruletest.Refused("drop-without-reason", func(p *programpb.Program) {
		ruletest.FirstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{}}
	}, "classes[0].legs[0]: drop has no reason"),
	ruletest.Refused("counter", func(p *programpb.Program) { ruletest.FirstLeg(p).Counters = []uint32{0, 1} }, "classes[0].legs[0]: counters[1] is 1, but there are only 1"),
	ruletest.Refused("op-empty", func(p *programpb.Program) { ruletest.Op(p, 0).Op = nil }, "classes[0].legs[0]", "is empty"),
	ruletest.Refused("op-run", func(p *programpb.Program) { ruletest.Op(p, 1).Op = &programpb.Op_StateForward{StateForward: 1} }, "classes[0].legs[0]", "state_forward is 1, but there are only 1"),
	ruletest.Refused("op-count", func(p *programpb.Program) { ruletest.Op(p, 1).Op = &programpb.Op_Count{Count: 1} }, "classes[0].legs[0]", "count is 1, but there are only 1"),
	ruletest.Refused("op-add-ttl-256", func(p *programpb.Program) { ruletest.Op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: 256} }, "classes[0].legs[0]", "add_ttl is 256, want -255..255"),
	ruletest.Refused("op-add-ttl-minus-256", func(p *programpb.Program) { ruletest.Op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: -256} }, "classes[0].legs[0]", "add_ttl is -256, want -255..255"),
	ruletest.Refused("set-proto", set(programpb.Field_PROTO, 6), "classes[0].legs[0]", "cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT"),
	ruletest.Refused("set-unknown", set(12, 6), "classes[0].legs[0]", "cannot be set: want VLAN"),
	ruletest.Refused("set-vlan-4097", set(programpb.Field_VLAN, 4097), "classes[0].legs[0]", "4097, want at most 4096"),
	ruletest.Refused("set-dscp-64", set(programpb.Field_DSCP, 64), "classes[0].legs[0]", "64, want at most 63"),
	ruletest.Refused("set-ttl-256", set(programpb.Field_TTL, 256), "classes[0].legs[0]", "256, want at most 255"),
	ruletest.Refused("set-sport-absent", set(programpb.Field_SPORT, 65536), "classes[0].legs[0]", "65536, want at most 65535"),
	ruletest.Refused("set-dport-absent", set(programpb.Field_DPORT, 65536), "classes[0].legs[0]", "65536, want at most 65535"),
	ruletest.Refused("cycle-of-one", func(p *programpb.Program) {
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Segment{Segment: 2}
	}, "segments[2] (back): leads back to itself by itself, and the TTL is not lowered on the way: want an add_ttl below 0"),
	ruletest.Refused("cycle-sets-ttl", looped(setTTL()), "segments[3] (s0): leads back to itself by segments[4] (s1), and the TTL is set or raised on the way: want it lowered alone"),
	ruletest.Refused("cycle-raises-ttl", looped(addTTL(1)), "segments[3] (s0): leads back to itself by segments[4] (s1), and the TTL is set or raised on the way"),
	ruletest.Refused("cycle-beside-one-that-lowers", func(p *programpb.Program) {
		looped()(p)
		s := p.Segments[4]
		l := &programpb.Leg{Outcome: &programpb.Leg_Segment{Segment: 4}}
		s.Classes = append(s.Classes, &programpb.Class{Legs: []*programpb.Leg{l}})
	}, "segments[4] (s1): leads back to itself by itself, and the TTL is not lowered on the way"),
}
