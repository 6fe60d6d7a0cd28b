// Package headerspace is the algebra of packets: header fields, sets of their
// values, and packet filters (SNF, "Packet unit representation").
package headerspace

import (
	"fmt"
	"net/netip"

	"lukechampine.com/uint128"
)

// Value is a field's value; every field, IPv6 addresses included, fits 128 bits.
type Value = uint128.Uint128

// V makes a Value of a small number.
func V(n uint64) Value { return uint128.From64(n) }

// Addr makes the Value of an address. IPv4 addresses are embedded as
// ::ffff:a.b.c.d, so that both families live in one 128-bit space.
func Addr(a netip.Addr) Value {
	b := a.As16()
	return uint128.FromBytesBE(b[:])
}

// AsAddr is the inverse of Addr.
func AsAddr(v Value) netip.Addr {
	var b [16]byte
	v.PutBytesBE(b[:])
	return netip.AddrFrom16(b).Unmap()
}

// Field names one header field, a dimension of the packet space.
type Field uint8

// The fields. A field that a packet may lack (VLAN, ports, TCP flags, ICMP
// type and code) has one value more than its width allows: Absent. So every
// packet has a value for every field, and "any" and "any port" differ.
const (
	VLAN     Field = iota // VLAN identifier 0..4094 of the single 802.1Q tag; absent: untagged
	Src                   // source address
	Dst                   // destination address
	Proto                 // IP protocol
	DSCP                  // differentiated services code point, 6 bits
	TTL                   // time to live
	Frag                  // FragWhole, FragFirst or FragLater
	SPort                 // source port of TCP and UDP; absent otherwise and on later fragments
	DPort                 // destination port, likewise
	TCPFlags              // the eight flag bits of TCP (CWR ECE URG ACK PSH RST SYN FIN); absent otherwise
	ICMPType              // ICMP type; absent otherwise and on later fragments
	ICMPCode              // ICMP code, likewise
	NumFields
	// Route is no field of a header, but what a table of routes says of the destination on entry to the segment: the number of its next hop
	// (package fib). Filters and packets have it beside the fields.
	Route = NumFields
)

// numSets is how many sets a filter has: one for each field, and one for Route.
const numSets = NumFields + 1

// Values of Frag.
const (
	FragWhole = 0 // not a fragment
	FragFirst = 1 // offset zero, more fragments follow
	FragLater = 2 // offset not zero
)

var fields = [numSets]struct {
	name   string
	max    Value // largest value, Absent included
	absent bool
}{
	VLAN:     {"vlan", V(4096), true},
	Src:      {"src", uint128.Max, false},
	Dst:      {"dst", uint128.Max, false},
	Proto:    {"proto", V(255), false},
	DSCP:     {"dscp", V(63), false},
	TTL:      {"ttl", V(255), false},
	Frag:     {"frag", V(2), false},
	SPort:    {"sport", V(65536), true},
	DPort:    {"dport", V(65536), true},
	TCPFlags: {"tcp-flags", V(256), true},
	ICMPType: {"icmp-type", V(256), true},
	ICMPCode: {"icmp-code", V(256), true},
	Route:    {"route", V(65535), false},
}

func (f Field) String() string {
	if f < numSets {
		return fields[f].name
	}
	return fmt.Sprintf("field(%d)", uint8(f))
}

// Max is the largest value of the field, Absent included.
func (f Field) Max() Value { return fields[f].max }

// Absent is the value of the field in a packet that lacks it; ok is false for
// fields that every packet has.
func (f Field) Absent() (v Value, ok bool) { return fields[f].max, fields[f].absent }
