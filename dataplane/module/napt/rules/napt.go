// Package rules has the rules of NAPTs in packet programs: pools and the runs that lead into them, what subscribers may have, and
// static translations.
package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxPortRestMs is a week; the engine has the same limit (../engine/sn_napt_impl.h).
const maxPortRestMs = 7 * 24 * 3_600_000

// pools are the tables of sessions with addresses of a pool. They have no member of StateTable that tells their kind: its other
// fields are theirs.
var pools = &rule.StateKind{
	Name:   "napt",
	Wanted: "a NAPT's",
	Check:  table,
	Text:   tableText,
	Holds:  "flows, both ways",
	Memory: memory,
}

func init() {
	rule.RegisterState(pools)
	rule.RegisterOutcome[*programpb.Leg_StateReturn](rule.Outcome{
		Text: func(p *programpb.Program, l *programpb.Leg) string {
			return "translate back " + p.GetTables()[l.GetStateReturn()].GetName()
		},
		Check: func(p *programpb.Program, at string, l *programpb.Leg) error {
			return pools.Index(p, at, "state_return", l.GetStateReturn())
		},
		Unless: func(*programpb.Program, *programpb.Leg) []string { return []string{"nat-no-binding"} },
	})
}

func table(_ *programpb.Program, at string, t *programpb.StateTable) error {
	if len(t.GetPool()) == 0 {
		return fmt.Errorf("%s: pool is empty", at)
	}
	for j, r := range t.GetPool() {
		if r.GetFirst() > r.GetLast() {
			return fmt.Errorf("%s: pool[%d] is %#x-%#x, want an ascending range", at, j, r.GetFirst(), r.GetLast())
		}
	}
	if a, twice := heldTwice(t.GetPool()); twice {
		return fmt.Errorf("%s: pool holds %#x twice, want disjoint ranges", at, a)
	}
	if t.GetPortMin() > t.GetPortMax() || t.GetPortMax() > 65535 {
		return fmt.Errorf("%s: ports are %d-%d, want an ascending range up to 65535", at, t.GetPortMin(), t.GetPortMax())
	}
	if m := t.GetMapping(); m < 0 || m > programpb.Dependence_ENDPOINT_INDEPENDENT {
		return fmt.Errorf("%s: mapping is %d, want 0..%d", at, m, programpb.Dependence_ENDPOINT_INDEPENDENT)
	}
	if ms := t.GetPortRestMs(); ms > maxPortRestMs {
		return fmt.Errorf("%s: port_rest_ms is %d, want at most %d", at, ms, maxPortRestMs)
	}
	if f := t.GetFiltering(); f < 0 || f > t.GetMapping() {
		return fmt.Errorf("%s: filtering is %d, want at most the mapping, which is %d", at, f, t.GetMapping())
	}
	return rule.Each(t.GetReserved(), func(j int, r *programpb.ReservedPorts) error {
		return reservedPorts(fmt.Sprintf("%s: reserved[%d]", at, j), r)
	})
}

// heldTwice is an address that two ranges hold.
func heldTwice(pool []*programpb.AddressRange) (uint32, bool) {
	pool = slices.SortedFunc(slices.Values(pool), func(a, b *programpb.AddressRange) int { return cmp.Compare(a.GetFirst(), b.GetFirst()) })
	for i := 1; i < len(pool); i++ {
		if pool[i].GetFirst() <= pool[i-1].GetLast() {
			return pool[i].GetFirst(), true
		}
	}
	return 0, false
}

// reservedPorts refuses ranges that are none.
func reservedPorts(at string, r *programpb.ReservedPorts) error {
	switch {
	case r.GetProto() != protoTCP && r.GetProto() != protoUDP:
		return fmt.Errorf("%s: proto is %d, want 6 or 17", at, r.GetProto())
	case r.GetFirst() > r.GetLast() || r.GetLast() > 65535:
		return fmt.Errorf("%s: ports are %d-%d, want an ascending range up to 65535", at, r.GetFirst(), r.GetLast())
	}
	return nil
}

func tableText(_ *programpb.Program, t *programpb.StateTable) string {
	var pool []string
	for _, r := range t.GetPool() {
		pool = append(pool, fmt.Sprintf("%s-%s", rule.Address(r.GetFirst()), rule.Address(r.GetLast())))
	}
	text := fmt.Sprintf("pool %s, ports %d-%d, at most %d sessions", strings.Join(pool, ","), t.GetPortMin(), t.GetPortMax(), t.GetMaxSessions())
	if t.GetMapping() != programpb.Dependence_ADDRESS_AND_PORT_DEPENDENT {
		text += fmt.Sprintf(", mapping %s, filtering %s", dependence(t.GetMapping()), dependence(t.GetFiltering()))
	}
	for _, r := range t.GetReserved() {
		text += fmt.Sprintf(", not %s %s:%d-%d", map[uint32]string{protoTCP: "tcp", protoUDP: "udp"}[r.GetProto()], rule.Address(r.GetAddress()), r.GetFirst(), r.GetLast())
	}
	if t.GetPaired() {
		text += ", paired"
	}
	if t.GetPortRestMs() > 0 {
		text += fmt.Sprintf(", ports rest %s", time.Duration(t.GetPortRestMs())*time.Millisecond)
	}
	return text
}

// dependence is in words what a mapping or filter depends on.
func dependence(d programpb.Dependence) string {
	return strings.ToLower(strings.ReplaceAll(d.String(), "_", "-"))
}
