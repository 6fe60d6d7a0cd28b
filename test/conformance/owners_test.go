package conformance

import (
	"encoding/binary"

	"github.com/sinter-nfv/sinter/test/packets"
)

// tag is what tells the packets of a batch apart: the identification of the IP header, which is also in echo requests'
// sequence numbers and in the upper half of TCP's sequence and acknowledgement numbers, so that it
// comes back in replies. Where a tag misleads, the packets in question are sent again one by one.
func tag(frame []byte) (uint16, bool) {
	ip := ipOf(frame)
	if len(ip) < 20 {
		return 0, false
	}
	return binary.BigEndian.Uint16(ip[4:]), true
}

// byAnswer are the packets of a batch's conversations, by the flow that an answer from the other end has on each side: resets repeat
// the numbers of segments, which no tag can be in.
func byAnswer(batch []*probe) (by [sides]map[flow]*probe) {
	for side := range sides {
		by[side] = map[flow]*probe{}
		for _, p := range batch {
			if v, ok := packets.Parse(p.frames[side]); ok && p.talk != nil {
				f := flowOf(v.IP)
				by[side][flow{f.proto, f.remote, f.inside}] = p
			}
		}
	}
	return by
}

// owners finds the packets of a batch that frames came out for. ok is false if there is one of nobody.
func owners(batch []*probe, outs [sides][]output) (by map[*probe]*[sides][]output, ok bool) {
	tags := map[uint16]*probe{}
	by = map[*probe]*[sides][]output{}
	for _, p := range batch {
		by[p] = new([sides][]output)
		if t, ok := tag(p.frames[sinter]); ok {
			tags[t] = p
		}
	}
	answers := byAnswer(batch)
	for side := range sides {
		for _, o := range outs[side] {
			p := ownerOf(tags, answers[side], o.frame)
			if p == nil {
				return by, false
			}
			by[p][side] = append(by[p][side], o)
		}
	}
	return by, true
}

func ownerOf(tags map[uint16]*probe, answers map[flow]*probe, frame []byte) *probe {
	v, ok := packets.Parse(frame)
	if !ok || v.EtherType != packets.EtherIPv4 {
		return nil
	}
	b := v.IP.Payload
	var candidates []uint16
	switch {
	case isICMPError(v.IP) && len(b) >= 28:
		candidates = []uint16{binary.BigEndian.Uint16(b[12:]), v.IP.ID}
	case v.IP.Proto == packets.ProtoICMP && v.IP.Offset == 0 && len(b) >= 8:
		candidates = []uint16{v.IP.ID, binary.BigEndian.Uint16(b[6:])}
	case v.IP.Proto == packets.ProtoTCP && v.IP.Offset == 0 && len(b) >= 12:
		candidates = []uint16{v.IP.ID, binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[8:])}
	default:
		candidates = []uint16{v.IP.ID}
	}
	for _, c := range candidates {
		if p := tags[c]; p != nil {
			return p
		}
	}
	return answers[flowOf(v.IP)]
}
