package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

const classBenchForm = "write it like @10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF 0x0200/0x1200"

// ClassBench reads filters as the ClassBench generator writes them (Taylor and
// Turner, "ClassBench: A Packet Classification Benchmark"):
//
//	@src/len dst/len sport_lo : sport_hi dport_lo : dport_hi proto/mask [flags/mask]
//
// The TCP flags are the high byte of flags and mask; they count only where the
// protocol is TCP. The rules have no action.
func ClassBench(data []byte) ([]Rule, []Problem) {
	var (
		rules []Rule
		bad   problems
		flags = flagSets{}
	)
	for n, text := range lines(data) {
		line := string(text)
		filter, found := classBenchLine(line, flags)
		fatal := false
		for _, p := range found {
			p.Line = n
			fatal = fatal || !p.Warning
			if !bad.add(p) && fatal {
				return rules, bad.list
			}
		}
		if !fatal {
			rules = append(rules, Rule{Line: n, Filter: filter})
		}
	}
	return rules, bad.list
}

func classBenchLine(line string, known flagSets) (headerspace.Filter, []Problem) {
	var filter headerspace.Filter
	rest, ok := strings.CutPrefix(line, "@")
	fields := strings.Fields(strings.ReplaceAll(rest, ":", " : "))
	if !ok || len(fields) < 9 || len(fields) > 10 || fields[3] != ":" || fields[6] != ":" {
		return filter, []Problem{{Value: line, Message: "not a ClassBench filter; " + classBenchForm}}
	}
	var found []Problem
	read := func(column string, f headerspace.Field, set headerspace.Set, p *Problem) {
		if p != nil {
			p.Field = column
			found = append(found, *p)
			if !p.Warning {
				return
			}
		}
		filter = filter.With(f, set)
	}
	src, p := prefixSet(fields[0])
	read("source", headerspace.Src, src, p)
	dst, p := prefixSet(fields[1])
	read("destination", headerspace.Dst, dst, p)
	sport, p := portSet(headerspace.SPort, fields[2], fields[4])
	read("source ports", headerspace.SPort, sport, p)
	dport, p := portSet(headerspace.DPort, fields[5], fields[7])
	read("destination ports", headerspace.DPort, dport, p)
	proto, p := protoSet(fields[8])
	read("protocol", headerspace.Proto, proto, p)
	if len(fields) == 10 {
		value, mask, ok := valueMask(fields[9], 16)
		switch {
		case !ok:
			found = append(found, Problem{Field: "TCP flags", Value: fields[9], Message: "not TCP flags with their mask; write it like 0x0200/0x1200"})
		case proto.Equal(headerspace.Of(protoTCP)):
			flags, p := known.set(fields[9], value, mask)
			read("TCP flags", headerspace.TCPFlags, flags, p)
		}
	}
	return filter, found
}

// prefixSet is every address for /0, of whatever family.
func prefixSet(s string) (headerspace.Set, *Problem) {
	p, problem := ParsePrefix(s)
	if problem != nil && !problem.Warning {
		return headerspace.Set{}, problem
	}
	if p == netip.PrefixFrom(netip.IPv4Unspecified(), 0) {
		return headerspace.Full(headerspace.Src), nil
	}
	return headerspace.Prefix(p), problem
}

// portSet is every packet, also without ports, for 0 : 65535.
func portSet(f headerspace.Field, a, b string) (headerspace.Set, *Problem) {
	lo, err1 := strconv.ParseUint(a, 10, 16)
	hi, err2 := strconv.ParseUint(b, 10, 16)
	switch {
	case err1 != nil || err2 != nil:
		return headerspace.Set{}, &Problem{Value: a + " : " + b, Message: "not a range of ports from 0 to 65535; write it like 1000 : 2000"}
	case lo > hi:
		return headerspace.Set{}, &Problem{Value: a + " : " + b, Message: fmt.Sprintf("the port range is reversed; write %d : %d", hi, lo)}
	case lo == 0 && hi == 65535:
		return headerspace.Full(f), nil
	}
	return headerspace.Range(lo, hi), nil
}

func protoSet(s string) (headerspace.Set, *Problem) {
	value, mask, ok := valueMask(s, 8)
	switch {
	case !ok:
		return headerspace.Set{}, &Problem{Value: s, Message: "not a protocol with its mask; write it like 0x06/0xFF"}
	case mask == 0:
		return headerspace.Full(headerspace.Proto), nil
	case mask == 0xff:
		return headerspace.Of(value), nil
	}
	return headerspace.Masked(headerspace.Proto, value, mask), nil
}

// flagSets are the flags read so far: a file has thousands of lines and a few flags.
type flagSets map[[2]uint64]headerspace.Set

// set is the flags under a mask; both are 16 bits, of which the high byte counts.
func (known flagSets) set(s string, value, mask uint64) (headerspace.Set, *Problem) {
	switch {
	case mask == 0:
		return headerspace.Full(headerspace.TCPFlags), nil
	case mask&0xff != 0:
		return headerspace.Set{}, &Problem{Value: s, Message: "the flags are the high byte; the low byte of the mask must be 00"}
	}
	key := [2]uint64{value >> 8, mask >> 8}
	if _, ok := known[key]; !ok {
		known[key] = headerspace.Masked(headerspace.TCPFlags, key[0], key[1])
	}
	return known[key], nil
}

func valueMask(s string, bits int) (value, mask uint64, ok bool) {
	v, m, ok := strings.Cut(s, "/")
	value, err1 := strconv.ParseUint(v, 0, bits)
	mask, err2 := strconv.ParseUint(m, 0, bits)
	return value, mask, ok && err1 == nil && err2 == nil
}
