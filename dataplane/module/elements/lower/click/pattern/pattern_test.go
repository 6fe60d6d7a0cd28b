package pattern_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/module/elements/lower/click/pattern"
)

type names map[string]netip.Prefix

func (n names) Address(s string) (netip.Addr, bool)  { p, ok := n[s]; return p.Addr(), ok }
func (n names) Prefix(s string) (netip.Prefix, bool) { p, ok := n[s]; return p.Masked(), ok }

var known = names{"intern": netip.MustParsePrefix("10.0.0.1/8")}

// packet is a point of the packet space: TCP, UDP, ICMP or another protocol, perhaps a fragment.
func packet(proto uint8, src, dst uint32, sport, dport uint16, flags, ttl, frag uint8) headerspace.Packet {
	var p headerspace.Packet
	for f := range headerspace.NumFields {
		if absent, ok := f.Absent(); ok {
			p[f] = absent
		}
	}
	address := func(v uint32) headerspace.Value {
		return headerspace.Addr(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}))
	}
	p[headerspace.Src], p[headerspace.Dst] = address(src), address(dst)
	p[headerspace.Proto], p[headerspace.TTL], p[headerspace.Frag] = headerspace.V(uint64(proto)), headerspace.V(uint64(ttl)), headerspace.V(uint64(frag%3))
	p[headerspace.DSCP] = headerspace.V(uint64(flags) / 4)
	if frag%3 == headerspace.FragLater {
		return p
	}
	switch proto {
	case 6:
		p[headerspace.TCPFlags] = headerspace.V(uint64(flags))
		fallthrough
	case 17:
		p[headerspace.SPort], p[headerspace.DPort] = headerspace.V(uint64(sport)), headerspace.V(uint64(dport))
	case 1:
		p[headerspace.ICMPType], p[headerspace.ICMPCode] = headerspace.V(uint64(sport)%256), headerspace.V(uint64(dport)%256)
	}
	return p
}

func passes(filters []headerspace.Filter, p headerspace.Packet) bool {
	for i := range filters {
		if filters[i].Contains(&p) {
			return true
		}
	}
	return false
}

func TestFragmentsMatchAsClickDocuments(t *testing.T) {
	const a, b = 0x0a000001, 0xc0000201
	for name, c := range map[string]struct {
		pattern string
		packet  headerspace.Packet
		want    bool
	}{
		"ports of a first fragment":                  {"tcp dst port 80", packet(6, a, b, 1, 80, 2, 64, 1), true},
		"ports of a later fragment":                  {"tcp dst port 80", packet(6, a, b, 1, 80, 2, 64, 2), false},
		"no condition on ports of a later one":       {"not tcp dst port 80", packet(6, a, b, 1, 80, 2, 64, 2), true},
		"a port that differs, of a later fragment":   {"dst port != 80", packet(6, a, b, 1, 81, 2, 64, 2), false},
		"options of a later fragment":                {"syn", packet(6, a, b, 1, 80, 2, 64, 2), false},
		"first fragments are fragments":              {"ip frag", packet(6, a, b, 1, 80, 2, 64, 1), true},
		"whole packets are none":                     {"ip unfrag", packet(6, a, b, 1, 80, 2, 64, 0), true},
		"the protocol of a later fragment":           {"tcp", packet(6, a, b, 1, 80, 2, 64, 2), true},
		"an address by its name":                     {"src host intern", packet(17, a, b, 1, 2, 0, 64, 0), true},
		"a network by its name":                      {"src net intern", packet(17, a+99, b, 1, 2, 0, 64, 0), true},
		"a network by a short prefix":                {"src 10/8 and dst 192.0.2/24", packet(17, a, b, 1, 2, 0, 64, 0), true},
		"one side of a range that is not within":     {"port < 80", packet(17, a, b, 1, 80, 0, 64, 0), false},
		"one side of a range that is within":         {"port >= 80", packet(17, a, b, 1, 80, 0, 64, 0), true},
		"a mask of an address with a hole":           {"src host & 255.255.252.255 == 10.0.0.1", packet(17, a+0x300, b, 1, 2, 0, 64, 0), true},
		"the second of two numbers without a type":   {"src port 80 or 443", packet(6, a, b, 443, 2, 0, 64, 0), true},
		"the second of two numbers, the other side":  {"src port 80 or 443", packet(6, a, b, 1, 443, 0, 64, 0), false},
		"the protocol that a number takes over":      {"tcp port 80 or 443", packet(17, a, b, 443, 443, 0, 64, 0), false},
		"a comparison that nothing meets":            {"ip ttl > 255", packet(17, a, b, 1, 2, 0, 255, 0), false},
		"a comparison that everything meets":         {"ip ttl >= 0", packet(17, a, b, 1, 2, 0, 0, 0), true},
		"both sides that are not it, one is":         {"src and dst port != 80", packet(17, a, b, 80, 81, 0, 64, 0), true},
		"both sides that are not it, both are":       {"src and dst port != 80", packet(17, a, b, 80, 80, 0, 64, 0), false},
		"either side that is not it, one is":         {"port != 80", packet(17, a, b, 80, 81, 0, 64, 0), false},
		"a masked comparison":                        {"ip ttl & 0xf0 > 0x3f", packet(17, a, b, 1, 2, 0, 0x4f, 0), true},
		"quotes within words":                        {"src host 10.0.0.1 and not dst host 192.0.2.2", packet(17, a, b, 1, 2, 0, 64, 0), true},
		"terms side by side, and a primitive of all": {"tcp src port 1 10.0.0.1", packet(6, a, b, 1, 2, 0, 64, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := pattern.Expression(c.pattern, known)
			if err != nil {
				t.Fatal(err)
			}
			if got := passes(f, c.packet); got != c.want {
				t.Errorf("%s: %v, want %v: %v", c.pattern, got, c.want, f)
			}
		})
	}
}

func TestHostilePatternsEnd(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses within each other": strings.Repeat("(", 100000),
		"negations within each other":   strings.Repeat("not ", 100000) + "tcp",
		"ternaries within each other":   strings.Repeat("tcp ? ", 100000),
		"conditions that multiply":      strings.Repeat("(src port 1 or dst port 3 or src net 10/8 or dst net 9/8 or ip ttl 3) and not ip frag and ", 40) + "tcp",
		"a mask of all holes":           "src host & 0x55555555 == 1.1.1.1",
		"many masks":                    strings.Repeat("port & 0x5555 == 1 or ", 300) + "tcp",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := pattern.Expression(text, nil)
			var wrong *pattern.Error
			if err != nil && !errors.As(err, &wrong) || len(f) > 512 {
				t.Errorf("%d filters, %v", len(f), err)
			}
		})
	}
}

// FuzzExpression: a pattern and its negation divide the packets between them, and joined with another they are what and and or mean.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"src net 10/8 and tcp dst port 80-90 or icmp type echo", "not (tcp opt syn and dst port != 80) ? ip ttl > 5 : ip dscp 46",
		"src or dst host 10.0.0.1 & 255.255.0.255 or port < 1024", "ip[12:4] & 0xffffff00 == 0x0a000000", "tcp[13] 2 or ip frag",
	} {
		f.Add(s, "udp or ip ttl < 7", uint8(6), uint32(0x0a000001), uint32(0xc0000201), uint16(80), uint16(81), uint8(2), uint8(64), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text, other string, proto uint8, src, dst uint32, sport, dport uint16, flags, ttl, frag uint8) {
		if len(text)+len(other) > 300 {
			return
		}
		p := packet(proto, src, dst, sport, dport, flags, ttl, frag)
		of := func(text string) (matches, ok bool) {
			f, err := pattern.Expression(text, known)
			return passes(f, p), err == nil
		}
		a, ok1 := of("(" + text + ")")
		b, ok2 := of("(" + other + ")")
		if !ok1 || !ok2 {
			return
		}
		for joined, want := range map[string]bool{
			"not (" + text + ")": !a, "(" + text + ") and (" + other + ")": a && b, "(" + text + ") or (" + other + ")": a || b,
			"(" + text + ") ? (" + other + ") : not (" + other + ")": a == b,
		} {
			if got, ok := of(joined); ok && got != want {
				t.Errorf("%s: %v, want %v", joined, got, want)
			}
		}
	})
}

func FuzzBytes(f *testing.F) {
	f.Add("12/0800 23/06%3f !26/0a000001 30/????0001", -14)
	f.Add("9/06 20/0050 33/02%12", 0)
	f.Fuzz(func(t *testing.T, text string, begin int) {
		filters, err := pattern.Bytes(text, min(max(begin, -14), 0))
		if err != nil && len(filters) > 0 {
			t.Error("filters of a pattern that is wrong")
		}
	})
}
