package describe

import (
	"fmt"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Value is a field's value as people write it.
func Value(f headerspace.Field, v headerspace.Value) string {
	switch {
	case f == headerspace.Proto && protocols[v.Lo] != "":
		return protocols[v.Lo]
	case f == headerspace.TCPFlags && v.Lo < 256:
		return flags(uint8(v.Lo))
	case f == headerspace.Frag && v.Lo < uint64(len(fragments)):
		return fragments[v.Lo]
	}
	return headerspace.Single(v).Format(f)
}

var (
	protocols = map[uint64]string{1: "icmp", 6: "tcp", 17: "udp"}
	flagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}
	fragments = [...]string{headerspace.FragWhole: "whole", headerspace.FragFirst: "first", headerspace.FragLater: "later"}
)

func flags(v uint8) string {
	var names []string
	for i, n := range flagNames {
		if v>>i&1 == 1 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// Packet is a packet in one line: the fields that it has.
func Packet(p *headerspace.Packet) string {
	has := func(f headerspace.Field) bool {
		absent, ok := f.Absent()
		return !ok || p[f] != absent
	}
	end := func(addr, port headerspace.Field) string {
		s := Value(addr, p[addr])
		if has(port) {
			s += ":" + Value(port, p[port])
		}
		return s
	}
	parts := []string{fmt.Sprintf("%s %s → %s", Value(headerspace.Proto, p[headerspace.Proto]),
		end(headerspace.Src, headerspace.SPort), end(headerspace.Dst, headerspace.DPort))}
	for _, f := range []headerspace.Field{headerspace.TCPFlags, headerspace.ICMPType, headerspace.ICMPCode, headerspace.TTL, headerspace.VLAN} {
		if has(f) {
			parts = append(parts, f.String()+" "+Value(f, p[f]))
		}
	}
	if p[headerspace.DSCP].Lo != 0 {
		parts = append(parts, "dscp "+Value(headerspace.DSCP, p[headerspace.DSCP]))
	}
	if p[headerspace.Frag].Lo != headerspace.FragWhole {
		parts = append(parts, Value(headerspace.Frag, p[headerspace.Frag])+" fragment")
	}
	return strings.Join(parts, ", ")
}
