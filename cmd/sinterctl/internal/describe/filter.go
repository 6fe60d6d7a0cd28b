package describe

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// maxRanges is how many ranges of addresses or ports are written where one of them says what somebody asks for.
const maxRanges = 8

// Around writes a filter that passes a packet. Of many ranges of addresses or ports it has the one that holds the packet.
func Around(f headerspace.Filter, p *headerspace.Packet) string {
	var notes []string
	for _, field := range [...]headerspace.Field{headerspace.Src, headerspace.Dst, headerspace.SPort, headerspace.DPort} {
		all := f.Get(field).Intervals()
		at := slices.IndexFunc(all, func(i headerspace.Interval) bool { return i.Lo.Cmp(p[field]) <= 0 && p[field].Cmp(i.Hi) <= 0 })
		if f.Any(field) || len(all) <= maxRanges || at < 0 {
			continue
		}
		f = f.With(field, headerspace.NewSet(all[at]))
		notes = append(notes, fmt.Sprintf("%s is one of %d ranges", field, len(all)))
	}
	if len(notes) == 0 {
		return Filter(f)
	}
	return Filter(f) + "  (" + strings.Join(notes, ", ") + ")"
}

// Filter is a packet filter in one line, its fields apart by two spaces.
func Filter(f headerspace.Filter) string {
	var parts []string
	for field := range headerspace.Route + 1 {
		if !f.Any(field) {
			parts = append(parts, field.String()+" "+set(field, f.Get(field)))
		}
	}
	if len(parts) == 0 {
		return "everything else"
	}
	return strings.Join(parts, "  ")
}

// set writes a set as people think of it: protocols by name, flags as set or clear, fragments in words.
func set(f headerspace.Field, s headerspace.Set) string {
	switch f {
	case headerspace.TCPFlags:
		if text, ok := flagCondition(s); ok {
			return text
		}
	case headerspace.Proto, headerspace.Frag:
		if values, ok := few(s); ok {
			names := make([]string, len(values))
			for i, v := range values {
				names[i] = Value(f, v)
			}
			return strings.Join(names, ",")
		}
	default:
	}
	return s.Format(f)
}

// few are the values of a set that has no more than eight.
func few(s headerspace.Set) ([]headerspace.Value, bool) {
	var out []headerspace.Value
	for _, i := range s.Intervals() {
		for v := i.Lo; v.Cmp(i.Hi) <= 0; v = v.Add64(1) {
			if len(out) == 8 {
				return nil, false
			}
			out = append(out, v)
		}
	}
	return out, len(out) > 0
}

// flagCondition writes a set of TCP flags that is a condition on some of them: "+ACK -SYN".
func flagCondition(s headerspace.Set) (string, bool) {
	set, clear := uint64(0xff), uint64(0xff)
	n := uint64(0)
	for v := range uint64(256) {
		if s.Contains(headerspace.V(v)) {
			set, clear = set&v, clear&^v
			n++
		}
	}
	absent, _ := headerspace.TCPFlags.Absent()
	if s.Contains(absent) || n == 0 || n != 1<<(8-bits.OnesCount64(set|clear)) {
		return "", false
	}
	var parts []string
	for i, name := range flagNames {
		switch {
		case set>>i&1 == 1:
			parts = append(parts, "+"+name)
		case clear>>i&1 == 1:
			parts = append(parts, "-"+name)
		}
	}
	if len(parts) == 0 {
		return "any", true
	}
	return strings.Join(parts, " "), true
}
