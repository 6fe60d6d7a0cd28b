// Package acl reads the benchmark's rule sets for peers, which are told of them in languages of their own.
package acl

import (
	"fmt"
	"net/netip"
	"strings"
)

// Rule is a line of a ClassBench file. Odd lines accept, even lines drop.
type Rule struct {
	Src, Dst     netip.Prefix
	SPort, DPort Ports
	Proto        string // tcp, udp, a number; empty: any
	Flags, Mask  uint8  // of TCP; mask 0: any
	Accept       bool
}

// Ports are from Low to High.
type Ports struct{ Low, High int }

// Any tells whether they are all ports.
func (p Ports) Any() bool { return p == Ports{0, 65535} }

func (p Ports) String() string {
	if p.Low == p.High {
		return fmt.Sprint(p.Low)
	}
	return fmt.Sprintf("%d-%d", p.Low, p.High)
}

// Parse reads a ClassBench file: @src dst sport : sport dport : dport proto/mask flags/mask.
func Parse(text string) ([]Rule, error) {
	var list []Rule
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		r := Rule{Accept: i%2 == 0}
		var src, dst string
		var proto, protoMask uint8
		var flags, mask uint16
		_, err := fmt.Sscanf(strings.TrimSpace(line), "@%s %s %d : %d %d : %d 0x%x/0x%x 0x%x/0x%x",
			&src, &dst, &r.SPort.Low, &r.SPort.High, &r.DPort.Low, &r.DPort.High, &proto, &protoMask, &flags, &mask)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is no ClassBench filter: %w", i+1, line, err)
		}
		if r.Src, err = netip.ParsePrefix(src); err == nil {
			r.Dst, err = netip.ParsePrefix(dst)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		switch name, known := map[uint8]string{6: "tcp", 17: "udp"}[proto]; {
		case protoMask == 0:
		case known:
			r.Proto = name
		default:
			r.Proto = fmt.Sprint(proto)
		}
		if r.Proto == "tcp" {
			r.Flags, r.Mask = uint8(flags>>8), uint8(mask>>8)
		}
		list = append(list, r)
	}
	return list, nil
}
