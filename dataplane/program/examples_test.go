package program

import (
	"math"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

var (
	seg0 = func(p *programpb.Program) *programpb.Segment { return p.Segments[0] }
	op   = func(p *programpb.Program, i int) *programpb.Op { return firstLeg(p).Ops[i] }
)

// set gives the first leg an operation that sets a field.
func set(f programpb.Field, v uint32) func(*programpb.Program) {
	return func(p *programpb.Program) {
		op(p, 2).Op = &programpb.Op_Set{Set: &programpb.SetField{Field: f, Value: v}}
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
var acceptedExamples = []example{
	{"as-it-is", func(*programpb.Program) {}, nil},
	{"cycle-lowers-ttl", looped(), nil},
	{"cycle-adds-nothing", looped(addTTL(0)), nil},
	{"longest-way-1", func(p *programpb.Program) { p.LongestWay = 1 }, nil},
	{"longest-way-1048576", func(p *programpb.Program) { p.LongestWay = MaxWay }, nil},
	{"interfaces-64", interfaces(64), nil},
	{"state-tables-256", stateTables(256), nil},
	{"runs-1024", runs(1024), nil},
	{"legs-64", legs(64), nil},
	{"ops-256", ops(256), nil},
	{"counters-65535", counters(65535), nil},
	{"bits-64", wide(64), nil},
	{"bits-65", wide(65), nil},
	{"bits-256", wide(256), nil},
	{"ttl-floor-256", func(p *programpb.Program) { seg0(p).TtlFloor = 256 }, nil},
	{"answer-ttl-255", func(p *programpb.Program) { p.Interfaces[0].AnswerTtl = 255 }, nil},
	{"mtu-65535", func(p *programpb.Program) { p.Interfaces[0].Mtu = 65535 }, nil},
	{"set-vlan-4096", set(programpb.Field_VLAN, 4096), nil},
	{"set-dport-65535", set(programpb.Field_DPORT, 65535), nil},
	{"add-ttl-255", func(p *programpb.Program) { op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: -255} }, nil},
	{"bit-set-of-nothing", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = nil }, nil},
	{"bit-set-of-neighbours", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 6, 7, 9} }, nil},
	{"vlans", vlans(1, 4094), nil},
	{"refused-neighbours", refused(8, 8, programpb.DropReason_DROP_REVERSE_PATH), nil},
	{"one-port", func(p *programpb.Program) { p.Tables[0].PortMin = 65535 }, nil},
	{"no-interface", func(p *programpb.Program) {
		p.Interfaces = nil
		firstLeg(p).Outcome = &programpb.Leg_Segment{Segment: 1}
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Generator{}
	}, nil},
	{"paired", func(p *programpb.Program) { p.Tables[0].Paired = true }, nil},
	{"port-rest-a-week", func(p *programpb.Program) { p.Tables[0].PortRestMs = 604_800_000 }, nil},
	{"two-tables", stateTables(2), nil},
	{"a-long-name", func(p *programpb.Program) {
		seg0(p).Name = "from a, which has a name longer than what a message shows of it"
	}, nil},
}

var countExamples = []example{
	{"schema-7", func(p *programpb.Program) { p.Schema = 7 }, []string{"schema", "7", "synthesize the chain again"}},
	{"schema-0", func(p *programpb.Program) { p.Schema = 0 }, []string{"schema", "synthesize the chain again"}},
	{"no-segments", func(p *programpb.Program) { p.Segments, p.Interfaces, p.Runs, p.Generators = nil, nil, nil, nil }, []string{"segments: there are none, want at least one"}},
	{"longest-way-0", func(p *programpb.Program) { p.LongestWay = 0 }, []string{"longest_way is 0, want 1..1048576"}},
	{"longest-way-1048577", func(p *programpb.Program) { p.LongestWay = 1048577 }, []string{"longest_way is 1048577, want 1..1048576"}},
	{"interfaces-65", interfaces(65), []string{"interfaces: there are 65, want at most 64"}},
	{"state-tables-257", stateTables(257), []string{"tables: there are 257, want at most 256"}},
	{"state-tables-alike", func(p *programpb.Program) {
		stateTables(3)(p)
		p.Tables[2].Name = "nat1"
	}, []string{"tables[2] (nat1): name is that of tables[1], want names that differ"}},
	{"runs-1025", runs(1025), []string{"runs: there are 1025, want at most 1024"}},
	{"runs-alike", func(p *programpb.Program) {
		runs(2)(p)
		p.Runs[1].Name = "run0"
	}, []string{"runs[1] (run0): name is that of runs[0], want names that differ"}},
	{"legs-0", legs(0), []string{"segments[0] (in): classes[1]: has 0 legs, want 1..64"}},
	{"legs-65", legs(65), []string{"segments[0] (in): classes[1]: has 65 legs, want 1..64"}},
	{"ops-257", ops(257), []string{"segments[0] (in): classes[0].legs[0]: has 257 ops, want at most 256"}},
	{"counters-65536", counters(65536), []string{"segments[0] (in): classes[0].legs[0]: has 65536 counters, want at most 65535"}},
	{"bits-257", wide(257), []string{"segments[0] (in): table: has 257 bit sets, want at most 256"}},
}

var indexExamples = []example{
	{"interface-segment", func(p *programpb.Program) { p.Interfaces[0].Segment = 3 }, []string{"interfaces[0] (in): segment is 3, but there are only 3"}},
	{"port-rest-604800001", func(p *programpb.Program) { p.Tables[0].PortRestMs = 604_800_001 }, []string{"tables[0] (nat): port_rest_ms is 604800001, want at most 604800000"}},
	{"run-table", func(p *programpb.Program) { p.Runs[0].Table = 1 }, []string{"runs[0] (nat): table is 1, but there are only 1"}},
	{"run-segment", func(p *programpb.Program) { p.Runs[0].Segment = 3 }, []string{"runs[0] (nat): segment is 3, but there are only 3"}},
	{"run-single", func(p *programpb.Program) { p.Runs[0].Single = []uint32{0, 1} }, []string{"runs[0] (nat): single[1] is 1, but there are only 1"}},
	{"run-singles-1025", func(p *programpb.Program) { p.Runs[0].Single = make([]uint32, 1025) }, []string{"runs[0] (nat): single: there are 1025, want at most 1024"}},
	{"generator-segment", func(p *programpb.Program) { p.Generators[0].Segment = 3 }, []string{"generators[0] (ttl): segment is 3, but there are only 3"}},
	{"generator-kind", func(p *programpb.Program) { p.Generators[0].Kind = 99 }, []string{"generators[0] (ttl): kind", "99"}},
	{"generator-type-256", func(p *programpb.Program) { p.Generators[0].Type = 256 }, []string{"generators[0] (ttl): type is 256, want at most 255"}},
	{"generator-code-256", func(p *programpb.Program) { p.Generators[0].Code = 256 }, []string{"generators[0] (ttl): code is 256, want at most 255"}},
	{"interface-unnamed", func(p *programpb.Program) { p.Interfaces[1].Name = "" }, []string{"interfaces[1] (): has no name"}},
	{"prefix-33", func(p *programpb.Program) { p.Interfaces[0].PrefixLen = 33 }, []string{"interfaces[0] (in): prefix_len is 33, want at most 32"}},
	{"neighbor-vlan-4096", func(p *programpb.Program) { p.Interfaces[0].Neighbors[0].Vlan = 4096 }, []string{"interfaces[0] (in)", "neighbors[0].vlan is 4096, want one of the interface's, or 0"}},
	{"answer-ttl-256", func(p *programpb.Program) { p.Interfaces[0].AnswerTtl = 256 }, []string{"interfaces[0] (in): answer_ttl is 256, want 0..255"}},
	{"mtu-67", func(p *programpb.Program) { p.Interfaces[0].Mtu = 67 }, []string{"interfaces[0] (in): mtu is 67, want 68..65535"}},
	{"mtu-65536", func(p *programpb.Program) { p.Interfaces[0].Mtu = 65536 }, []string{"interfaces[0] (in): mtu is 65536, want 68..65535"}},
	{"mac-5", func(p *programpb.Program) { p.Interfaces[1].Mac = make([]byte, 5) }, []string{"interfaces[1] (out): mac has 5 bytes, want 6 or none"}},
	{"neighbor-mac-0", func(p *programpb.Program) { p.Interfaces[0].Neighbors[0].Mac = nil }, []string{"interfaces[0] (in)", "neighbors[0]: mac has 0 bytes, want 6"}},
	{"vlan-0", vlans(0), []string{"interfaces[0] (in): vlans[0] is 0, want 1..4094, each above the one before"}},
	{"vlan-4095", vlans(7, 4095), []string{"interfaces[0] (in): vlans[1] is 4095, want 1..4094, each above the one before"}},
	{"vlans-descend", vlans(7, 6), []string{"interfaces[0] (in): vlans[1] is 6, want 1..4094, each above the one before"}},
	{"vlan-twice", vlans(7, 7), []string{"interfaces[0] (in): vlans[1] is 7, want 1..4094, each above the one before"}},
	{"neighbor-vlan", func(p *programpb.Program) {
		vlans(7)(p)
		p.Interfaces[0].Neighbors[0].Vlan = 8
	}, []string{"interfaces[0] (in)", "neighbors[0].vlan is 8, want one of the interface's, or 0"}},
	{"refused-descends", refused(9, 8, programpb.DropReason_DROP_OWN_SOURCE), []string{"interfaces[0] (in): refused[1] is 0x9-0x8, want ascending, disjoint ranges"}},
	{"refused-overlaps", refused(7, 8, programpb.DropReason_DROP_OWN_SOURCE), []string{"interfaces[0] (in): refused[1] is 0x7-0x8, want ascending, disjoint ranges"}},
	{"refused-reason", refused(8, 8, programpb.DropReason_DROP_MARTIAN), []string{"interfaces[0] (in): refused[1].reason is 8, want that of a source"}},
	{"pool-empty", func(p *programpb.Program) { p.Tables[0].Pool = nil }, []string{"tables[0] (nat): pool is empty"}},
	{"pool-descends", func(p *programpb.Program) { p.Tables[0].Pool[0].First = 0xc0000212 }, []string{"tables[0] (nat): pool[0] is 0xc0000212-0xc0000211, want an ascending range"}},
	{"pool-overlaps", func(p *programpb.Program) {
		p.Tables[0].Pool = append(p.Tables[0].Pool, &programpb.AddressRange{First: 1, Last: 0xc0000210})
	}, []string{"tables[0] (nat): pool holds 0xc0000210 twice, want disjoint ranges"}},
	{"ports-descend", func(p *programpb.Program) { p.Tables[0].PortMax = 1023 }, []string{"tables[0] (nat): ports are 1024-1023, want an ascending range up to 65535"}},
	{"mapping-3", func(p *programpb.Program) { p.Tables[0].Mapping = 3 }, []string{"tables[0] (nat): mapping is 3, want 0..2"}},
	{"mapping-endpoint", func(p *programpb.Program) { p.Tables[0].Mapping, p.Tables[0].Filtering = 2, 2 }, nil},
	{"filtering-looser-than-mapping", func(p *programpb.Program) { p.Tables[0].Mapping, p.Tables[0].Filtering = 1, 2 }, []string{"tables[0] (nat): filtering is 2, want at most the mapping, which is 1"}},
	{"port-65536", func(p *programpb.Program) { p.Tables[0].PortMax = 65536 }, []string{"tables[0] (nat): ports are 1024-65536, want an ascending range up to 65535"}},
}

var tableExamples = []example{
	{"ttl-floor-257", func(p *programpb.Program) { seg0(p).TtlFloor = 257 }, []string{"segments[0] (in): ttl_floor is 257, want at most 256"}},
	{"table-missing", func(p *programpb.Program) { seg0(p).Table = nil }, []string{"segments[0] (in): table: is missing"}},
	{"low-missing-by-floor", func(p *programpb.Program) { seg0(p).Low = nil }, []string{"segments[0] (in): low: is missing"}},
	{"low-missing-by-whole-only", func(p *programpb.Program) { seg0(p).TtlFloor, seg0(p).WholeOnly, seg0(p).Low = 0, true, nil }, []string{"segments[0] (in): low: is missing"}},
	{"low-not-needed", func(p *programpb.Program) { seg0(p).TtlFloor, seg0(p).Low.Classes[0] = 0, 2 }, []string{"segments[0] (in): low: classes[0] is 2, but there are only 2"}},
	{"no-boxes", func(p *programpb.Program) { seg0(p).Table = &programpb.Table{} }, []string{"segments[0] (in): table: has 0 boxes"}},
	{"box-class", func(p *programpb.Program) { seg0(p).Table.Classes[1] = 2 }, []string{"segments[0] (in): table: classes[1] is 2, but there are only 2"}},
	{"bounds-missing", func(p *programpb.Program) { seg0(p).Table.Bounds = seg0(p).Table.Bounds[:7] }, []string{"table: has 7 bounds, want 8 (2 boxes of 2 ranges)"}},
	{"required-missing", func(p *programpb.Program) { seg0(p).Table.Required = []uint64{1} }, []string{"table: has 1 required words, want 2 (2 boxes of 1)"}},
	{"range-descends", func(p *programpb.Program) { seg0(p).Table.Bounds[2] = 1024 }, []string{"table: box 0: ", "1024-1023", "want an ascending range up to 65536"}},
	{"range-beyond", func(p *programpb.Program) { seg0(p).Table.Bounds[7] = 65537 }, []string{"table: box 1: ", "0-65537", "want an ascending range up to 65536"}},
	{"dim-twice", func(p *programpb.Program) { seg0(p).Table.Dims[1] = programpb.Field_SRC }, []string{"table: dims[1]: ", "is there twice"}},
	{"dim-proto", func(p *programpb.Program) { seg0(p).Table.Dims[1] = programpb.Field_PROTO }, []string{"table: dims[1]: ", "is no dimension; use a bit set"}},
	{"dim-unknown", func(p *programpb.Program) { seg0(p).Table.Dims[0] = 12 }, []string{"table: dims[0]: ", "is no dimension; use a bit set"}},
	{"dim-negative", func(p *programpb.Program) { seg0(p).Table.Dims[0] = -1 }, []string{"table: dims[0]: ", "is no dimension; use a bit set"}},
	{"bit-field-unknown", func(p *programpb.Program) { seg0(p).Table.Bits[0].Field = 13 }, []string{"table: bits[0]: field"}},
	{"bit-field-route-without-fib", func(p *programpb.Program) { seg0(p).Table.Bits[0].Field = programpb.Field_ROUTE }, []string{"segments[0] (in): table: bits[0]: field is ROUTE, but the segment has no FIB"}},
	{"dim-route", func(p *programpb.Program) { seg0(p).Table.Dims[0] = programpb.Field_ROUTE }, []string{"table: dims[0]: ", "is no dimension; use a bit set"}},
	{"fib-missing", func(p *programpb.Program) { seg0(p).Fib = 1 }, []string{"segments[0] (in): fib is 1, but there are only 0"}},
	{"fib-hash", func(p *programpb.Program) { p.Fibs = []*programpb.Fib{{Hash: make([]byte, 31)}} }, []string{"fibs[0]: hash has 31 bytes, want 32"}},
	{"fib-next-hops", func(p *programpb.Program) { p.Fibs = []*programpb.Fib{{Hash: make([]byte, 32), NextHops: 65536}} }, []string{"fibs[0]: next_hops is 65536, want at most 65535"}},
	{"fibs-65", func(p *programpb.Program) { p.Fibs = make([]*programpb.Fib, 65) }, []string{"fibs: there are 65, want at most 64"}},
	{"bit-half-a-range", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 6, 17} }, []string{"table: bits[0]: has 3 range ends, want pairs"}},
	{"bit-descends", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{7, 6} }, []string{"table: bits[0]: ", "7-6", "want ascending ranges up to 255"}},
	{"bit-ranges-descend", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{17, 17, 6, 6} }, []string{"table: bits[0]: ", "6-6", "want ascending ranges up to 255"}},
	{"bit-ranges-touch", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges = []uint32{6, 17, 17, 18} }, []string{"table: bits[0]: ", "17-18", "want ascending ranges up to 255"}},
	{"bit-beyond", func(p *programpb.Program) { seg0(p).Table.Bits[0].Ranges[3] = 256 }, []string{"table: bits[0]: ", "17-256", "want ascending ranges up to 255"}},
	{"required-beyond", func(p *programpb.Program) { seg0(p).Table.Required[0] = 2 }, []string{"table: box 0: requires a bit beyond the 1 bit sets"}},
	{"not-total-by-a-range", func(p *programpb.Program) { seg0(p).Table.Bounds[7] = 65535 }, []string{"table: box 1 is the last and holds ", "0-65535 alone: want one that holds every packet"}},
	{"not-total-by-an-address", func(p *programpb.Program) { seg0(p).Table.Bounds[4] = 1 }, []string{"table: box 1 is the last and holds ", "1-4294967295 alone: want one that holds every packet"}},
	{"not-total-by-a-bit", func(p *programpb.Program) { seg0(p).Table.Required[1] = 1 }, []string{"table: box 1 is the last and requires bits: want one that holds every packet"}},
	{"low-not-total", func(p *programpb.Program) {
		seg0(p).Low = &programpb.Table{Dims: []programpb.Field{programpb.Field_TTL}, Bounds: []uint32{0, 1}, Classes: []uint32{0}}
	}, []string{"segments[0] (in): low: box 0 is the last and holds ", "0-1 alone: want one that holds every packet"}},
}

var legExamples = []example{
	{"no-outcome", func(p *programpb.Program) { firstLeg(p).Outcome = nil }, []string{"segments[0] (in): classes[0].legs[0]: has no outcome"}},
	{"output", func(p *programpb.Program) { firstLeg(p).Outcome = &programpb.Leg_Output{Output: 2} }, []string{"classes[0].legs[0]: output is 2, but there are only 2"}},
	{"generator", func(p *programpb.Program) { firstLeg(p).Outcome = &programpb.Leg_Generator{Generator: 1} }, []string{"classes[0].legs[0]: generator is 1, but there are only 1"}},
	{"segment", func(p *programpb.Program) { firstLeg(p).Outcome = &programpb.Leg_Segment{Segment: math.MaxUint32} }, []string{"classes[0].legs[0]: segment is 4294967295, but there are only 3"}},
	{"state-return", func(p *programpb.Program) { firstLeg(p).Outcome = &programpb.Leg_StateReturn{StateReturn: 1} }, []string{"classes[0].legs[0]: state_return is 1, but there are only 1"}},
	{"drop-chain", func(p *programpb.Program) {
		firstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Chain{Chain: 1}}}
	}, []string{"classes[0].legs[0]: drop.chain is 1, but there are only 1"}},
	{"drop-none", func(p *programpb.Program) {
		firstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{}}}
	}, []string{"classes[0].legs[0]: drop.builtin 0 is no drop reason"}},
	{"drop-unknown", func(p *programpb.Program) {
		firstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: 63}}}
	}, []string{"classes[0].legs[0]: drop.builtin 63 is no drop reason"}},
	{"drop-negative", func(p *programpb.Program) {
		firstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{Reason: &programpb.Drop_Builtin{Builtin: -1}}}
	}, []string{"classes[0].legs[0]: drop.builtin -1 is no drop reason"}},
	{"drop-without-reason", func(p *programpb.Program) { firstLeg(p).Outcome = &programpb.Leg_Drop{Drop: &programpb.Drop{}} }, []string{"classes[0].legs[0]: drop has no reason"}},
	{"counter", func(p *programpb.Program) { firstLeg(p).Counters = []uint32{0, 1} }, []string{"classes[0].legs[0]: counters[1] is 1, but there are only 1"}},
	{"op-empty", func(p *programpb.Program) { op(p, 0).Op = nil }, []string{"classes[0].legs[0]", "is empty"}},
	{"op-run", func(p *programpb.Program) { op(p, 1).Op = &programpb.Op_StateForward{StateForward: 1} }, []string{"classes[0].legs[0]", "state_forward is 1, but there are only 1"}},
	{"op-count", func(p *programpb.Program) { op(p, 1).Op = &programpb.Op_Count{Count: 1} }, []string{"classes[0].legs[0]", "count is 1, but there are only 1"}},
	{"op-add-ttl-256", func(p *programpb.Program) { op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: 256} }, []string{"classes[0].legs[0]", "add_ttl is 256, want -255..255"}},
	{"op-add-ttl-minus-256", func(p *programpb.Program) { op(p, 0).Op = &programpb.Op_AddTtl{AddTtl: -256} }, []string{"classes[0].legs[0]", "add_ttl is -256, want -255..255"}},
	{"set-proto", set(programpb.Field_PROTO, 6), []string{"classes[0].legs[0]", "cannot be set: want VLAN, SRC, DST, DSCP, TTL, SPORT or DPORT"}},
	{"set-unknown", set(12, 6), []string{"classes[0].legs[0]", "cannot be set: want VLAN"}},
	{"set-vlan-4097", set(programpb.Field_VLAN, 4097), []string{"classes[0].legs[0]", "4097, want at most 4096"}},
	{"set-dscp-64", set(programpb.Field_DSCP, 64), []string{"classes[0].legs[0]", "64, want at most 63"}},
	{"set-ttl-256", set(programpb.Field_TTL, 256), []string{"classes[0].legs[0]", "256, want at most 255"}},
	{"set-sport-absent", set(programpb.Field_SPORT, 65536), []string{"classes[0].legs[0]", "65536, want at most 65535"}},
	{"set-dport-absent", set(programpb.Field_DPORT, 65536), []string{"classes[0].legs[0]", "65536, want at most 65535"}},
	{"cycle-of-one", func(p *programpb.Program) {
		p.Segments[2].Classes[0].Legs[0].Outcome = &programpb.Leg_Segment{Segment: 2}
	}, []string{"segments[2] (back): leads back to itself by itself, and the TTL is not lowered on the way: want an add_ttl below 0"}},
	{"cycle-sets-ttl", looped(setTTL()), []string{"segments[3] (s0): leads back to itself by segments[4] (s1), and the TTL is set or raised on the way: want it lowered alone"}},
	{"cycle-raises-ttl", looped(addTTL(1)), []string{"segments[3] (s0): leads back to itself by segments[4] (s1), and the TTL is set or raised on the way"}},
	{"cycle-beside-one-that-lowers", func(p *programpb.Program) {
		looped()(p)
		s := p.Segments[4]
		l := &programpb.Leg{Outcome: &programpb.Leg_Segment{Segment: 4}}
		s.Classes = append(s.Classes, &programpb.Class{Legs: []*programpb.Leg{l}})
	}, []string{"segments[4] (s1): leads back to itself by itself, and the TTL is not lowered on the way"}},
}
