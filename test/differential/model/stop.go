package model

import (
	"encoding/binary"
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// onward is where a packet goes on that comes back from a stop.
type onward struct {
	back, entry  int
	segment, hop uint32
}

// arrival is a frame that comes in by an interface.
type arrival struct {
	iface int
	frame []byte
}

// mark begins the source addresses of the model's frames on their way to stops. Then comes a place in Model.away.
var mark = []byte{2, 0x4d, 0x4d}

// stop sends a packet out to a function outside of the program.
func (m *Model) stop(s *Shot, to *programpb.Stop) (left bool) {
	past := false
	if m.Down != nil && m.Down(int(to.GetOut())) {
		switch d := to.GetDown().(type) {
		case *programpb.Stop_Drop:
			return m.drop(m.p.GetReasons()[d.Drop])
		case *programpb.Stop_Bypass:
			past = true
		}
	}
	ip := s.seal()
	if !past && len(ip) > int(m.p.GetInterfaces()[to.GetOut()].GetMtu()) {
		return m.drop("too-big")
	}
	o := onward{int(to.GetBack()), s.Entry, to.GetSegment(), s.hop}
	n := slices.Index(m.away, o)
	if n < 0 {
		n = len(m.away)
		m.away = append(m.away, o)
	}
	var dst, src packets.MAC
	copy(dst[:], m.links[o.back].MAC)
	copy(src[:], append(slices.Clone(mark), byte(n>>16), byte(n>>8), byte(n)))
	frame := s.frame(dst, src, ip)
	if past {
		m.past = append(m.past, arrival{o.back, frame})
		return true
	}
	m.result.Out = append(m.result.Out, interp.Out{Interface: int(to.GetOut()), Frame: frame})
	return true
}

// tap sends a copy; whatever becomes of it, state is as if there were none.
func (m *Model) tap(s *Shot, out int) (left bool) {
	ip := s.seal()
	if len(ip) > int(m.p.GetInterfaces()[out].GetMtu()) {
		return m.drop("too-big")
	}
	var src packets.MAC
	copy(src[:], m.links[out].MAC)
	m.result.Out = append(m.result.Out, interp.Out{Interface: out, Frame: s.frame(packets.MAC{0x0a, 's', 'i', 'n', 't', 'r'}, src, ip)})
	return false
}

// frame is a packet with the tag that it came with.
func (s *Shot) frame(dst, src packets.MAC, ip []byte) []byte {
	var tags []packets.Tag
	if s.tpid != 0 {
		tags = []packets.Tag{{TPID: s.tpid, TCI: s.tci}}
	}
	return packets.Ethernet(dst, src, tags, packets.EtherIPv4, ip, s.padding)
}

// cameBack is how the packet of a frame goes on that comes in by an interface; false: as others that come in there.
func (m *Model) cameBack(iface int, frame []byte) (onward, bool) {
	n := int(binary.BigEndian.Uint32(append([]byte{0}, frame[9:12]...)))
	if !slices.Equal(frame[6:9], mark) || n >= len(m.away) || m.away[n].back != iface {
		return onward{}, false
	}
	return m.away[n], true
}
