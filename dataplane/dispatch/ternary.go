package dispatch

// ternary covers a set of n-bit values exactly by as few disjoint masks as splitting bit by bit can reach: "SYN
// without ACK" is one.
func ternary(s set, n int) []Cond {
	t := ternaryCover{set: s, best: map[Cond][]Cond{}, bits: n}
	return t.cover(Cond{})
}

type ternaryCover struct {
	set  set
	bits int
	best map[Cond][]Cond
}

func (t *ternaryCover) cover(c Cond) []Cond {
	if out, ok := t.best[c]; ok {
		return out
	}
	in, all := 0, 0
	for v := uint32(0); v < 1<<t.bits; v++ {
		if v&c.Mask == c.Value {
			all++
			if t.set.has(v) {
				in++
			}
		}
	}
	var out []Cond
	switch in {
	case 0:
	case all:
		out = []Cond{c}
	default:
		for b := uint32(1); b < 1<<t.bits; b <<= 1 {
			if c.Mask&b != 0 {
				continue
			}
			off := t.cover(Cond{Value: c.Value, Mask: c.Mask | b})
			on := t.cover(Cond{Value: c.Value | b, Mask: c.Mask | b})
			if n := len(off) + len(on); out == nil || n < len(out) {
				out = append(append(make([]Cond, 0, n), off...), on...)
			}
		}
	}
	t.best[c] = out
	return out
}

// prefixes covers a range of a field of the given width by the fewest leading-bit masks.
func prefixes(s span, bits int) []Cond {
	var out []Cond
	top := uint64(1)<<bits - 1
	for lo := uint64(s.lo); lo <= uint64(s.hi); {
		size := uint64(1)
		for lo&(2*size-1) == 0 && lo+2*size-1 <= uint64(s.hi) && 2*size-1 <= top {
			size *= 2
		}
		out = append(out, Cond{Value: uint32(lo), Mask: uint32(top &^ (size - 1))})
		lo += size
	}
	return out
}
