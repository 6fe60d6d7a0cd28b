package rules

import (
	"bytes"
	"net/netip"
	"strings"
)

// shortest is the length of the shortest line with a prefix.
const shortest = len("0.0.0.0/0\n")

// Prefixes reads a file with one prefix per line. IPv6 prefixes are ignored:
// tables of the Internet hold both families.
func Prefixes(data []byte) ([]netip.Prefix, []Problem) {
	var (
		out = make([]netip.Prefix, 0, min(bytes.Count(data, []byte{'\n'}), len(data)/shortest)+1)
		bad problems
	)
	for n, text := range lines(data) {
		if p, ok := plainPrefix(text); ok {
			out = append(out, p)
			continue
		}
		line := string(text)
		if strings.Contains(line, ":") {
			if _, err := netip.ParsePrefix(line); err == nil {
				continue
			}
		}
		p, problem := ParsePrefix(line)
		if problem != nil {
			problem.Line = n
			if more := bad.add(*problem); !problem.Warning {
				if !more {
					return out, bad.list
				}
				continue
			}
		}
		out = append(out, p)
	}
	return out, bad.list
}

// plainPrefix reads an IPv4 prefix as it is most often written, without making a string of it: tables have a million of them. ok is false if
// it is written otherwise, or wrong.
func plainPrefix(s []byte) (p netip.Prefix, ok bool) {
	var (
		numbers [5]int // of the address, and the length
		at, n   int    // the number read, and its digits
	)
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9' && n < 3 && (n == 0 || numbers[at] > 0):
			numbers[at] = 10*numbers[at] + int(c-'0')
			n++
		case n > 0 && (at < 3 && c == '.' || at == 3 && c == '/'):
			at, n = at+1, 0
		default:
			return p, false
		}
	}
	if at < 4 || n == 0 || numbers[4] > 32 {
		return p, false
	}
	var a [4]byte
	for i := range a {
		if numbers[i] > 255 {
			return p, false
		}
		a[i] = byte(numbers[i])
	}
	p = netip.PrefixFrom(netip.AddrFrom4(a), numbers[4])
	return p, p == p.Masked()
}
