package rules

import (
	"net/netip"
	"strings"
)

// Prefixes reads a file with one prefix per line. IPv6 prefixes are ignored:
// tables of the Internet hold both families.
func Prefixes(data []byte) ([]netip.Prefix, []Problem) {
	var (
		out []netip.Prefix
		bad problems
	)
	for n, line := range lines(data) {
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
