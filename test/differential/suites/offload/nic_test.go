package offload

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/dispatch"
	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/test/packets"
)

// nic executes flow rules on frames. It knows nothing of how plans are made.
type nic struct {
	tables [2][]entry // by priority
	// peeks: it takes what lies behind the IP header of a fragment for ports, flags and types, where a rule asks for these.
	peeks bool
	// ties chooses among n rules of one priority; nil: there must be none that differ. In the middle of an update there may be, and each of
	// them has to be right.
	ties func(n int) int
}

// entry is a rule with the conditions that it really has.
type entry struct {
	dst, src dispatch.Cond // compared first
	*dispatch.Rule
	conds []condition
}

type condition struct {
	field hs.Field
	dispatch.Cond
}

// verdict is what the device does with a frame.
type verdict struct {
	action  dispatch.Action
	matched bool
}

func newNIC(rules []dispatch.Rule, peeks bool) *nic {
	n := &nic{peeks: peeks}
	for i := range rules {
		e := entry{Rule: &rules[i], dst: rules[i].Match.Conds[hs.Dst], src: rules[i].Match.Conds[hs.Src]}
		for f, c := range e.Match.Conds {
			if c != (dispatch.Cond{}) {
				e.conds = append(e.conds, condition{hs.Field(f), c})
			}
		}
		n.tables[e.Table] = append(n.tables[e.Table], e)
	}
	for _, t := range n.tables {
		slices.SortStableFunc(t, func(a, b entry) int { return a.Priority - b.Priority })
	}
	return n
}

// seen is a frame as a device reads it: each field's value, and whether it is there.
type seen struct {
	mac   dispatch.MAC
	value [hs.NumFields]uint32
	has   [hs.NumFields]bool
}

func (s *seen) put(f hs.Field, v uint32) { s.value[f], s.has[f] = v, true }

// read reads a frame as far as it is IPv4 behind at most one tag; it does not check checksums or lengths.
func (n *nic) read(frame []byte) (s seen, ok bool) {
	if len(frame) < 14 {
		return s, false
	}
	copy(s.mac[:], frame)
	s.put(hs.VLAN, dispatch.Untagged)
	kind, at := binary.BigEndian.Uint16(frame[12:]), 14
	if kind == packets.TPID8021Q || kind == packets.TPIDQinQ {
		if len(frame) < 18 {
			return s, false
		}
		s.put(hs.VLAN, uint32(binary.BigEndian.Uint16(frame[14:])&0xfff))
		kind, at = binary.BigEndian.Uint16(frame[16:]), 18
	}
	if kind != packets.EtherIPv4 || len(frame) < at+20 {
		return s, false
	}
	ip := frame[at:]
	s.put(hs.DSCP, uint32(ip[1]>>2))
	s.put(hs.TTL, uint32(ip[8]))
	s.put(hs.Proto, uint32(ip[9]))
	s.put(hs.Src, binary.BigEndian.Uint32(ip[12:]))
	s.put(hs.Dst, binary.BigEndian.Uint32(ip[16:]))
	word := binary.BigEndian.Uint16(ip[6:])
	state := uint32(hs.FragWhole)
	switch {
	case word&0x1fff != 0:
		state = hs.FragLater
	case word&0x2000 != 0:
		state = hs.FragFirst
	}
	s.put(hs.Frag, state)
	header := int(ip[0]&15) * 4
	if header < 20 || len(ip) < header || state != hs.FragWhole && !n.peeks {
		return s, true
	}
	n.readTransport(&s, ip[9], ip[header:])
	return s, true
}

func (n *nic) readTransport(s *seen, proto byte, b []byte) {
	switch {
	case (proto == packets.ProtoTCP || proto == packets.ProtoUDP) && len(b) >= 4:
		s.put(hs.SPort, uint32(binary.BigEndian.Uint16(b)))
		s.put(hs.DPort, uint32(binary.BigEndian.Uint16(b[2:])))
		if proto == packets.ProtoTCP && len(b) >= 14 {
			s.put(hs.TCPFlags, uint32(b[13]))
		}
	case proto == packets.ProtoICMP && len(b) >= 2:
		s.put(hs.ICMPType, uint32(b[0]))
		s.put(hs.ICMPCode, uint32(b[1]))
	}
}

// meets tells whether the frame is what a rule asks for.
func (s *seen) meets(e *entry) bool {
	if s.value[hs.Dst]&e.dst.Mask != e.dst.Value&e.dst.Mask || s.value[hs.Src]&e.src.Mask != e.src.Value&e.src.Mask {
		return false
	}
	if e.Match.DstMAC != (dispatch.MAC{}) && e.Match.DstMAC != s.mac {
		return false
	}
	for i := range e.conds {
		c := &e.conds[i]
		switch v := s.value[c.field]; {
		case !s.has[c.field]:
			return false
		case c.Mask != 0 && v&c.Mask != c.Value:
			return false
		case c.Mask == 0 && (v < c.Value || v > c.Last):
			return false
		}
	}
	return true
}

// judge runs a frame through the tables. Two rules of one priority that would do different things are an error.
func (n *nic) judge(frame []byte) (v verdict, err error) {
	s, ok := n.read(frame)
	if !ok {
		return v, nil
	}
	for _, table := range n.tables {
		var first *entry
		met := 0
		for i := range table {
			r := &table[i]
			if first != nil && r.Priority > first.Priority {
				break
			}
			if !s.meets(r) {
				continue
			}
			met++
			switch {
			case first == nil || n.ties != nil && n.ties(met) == 0:
				first = r
			case n.ties == nil && first.Action != r.Action:
				return v, fmt.Errorf("rules of one priority disagree: %v, %v", first.Rule, r.Rule)
			}
		}
		if first == nil {
			return v, nil
		}
		mark, class := v.action.Mark, v.action.Class
		v = verdict{first.Action, true}
		if v.action.Mark == 0 && v.action.Kind != dispatch.Drop {
			v.action.Mark, v.action.Class = mark, class // a mark of the first table stays
		}
		if v.action.Kind != dispatch.Jump {
			return v, nil
		}
	}
	return v, nil
}
