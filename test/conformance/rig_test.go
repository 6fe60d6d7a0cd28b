package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// The two that are compared.
const (
	sinter = iota
	linux
	sides
)

var sideNames = [sides]string{"Sinter", "Linux"}

// rig is a scenario set up twice, with a raw socket on the far end of each interface's cable.
type rig struct {
	*scenario
	wires  [sides][]*lab.Wire // by interface
	engine *lab.Engine
	kernel *kernel
	nat    *bindings       // nil without a NAPT
	fences uint32          // sent so far
	asked  [sides][]output // ARP requests
}

// probe is a packet that goes into both. Behind a NAPT, a packet from outside names the binding of its side.
type probe struct {
	kind    string // of the generator
	in      int    // interface
	solo    bool
	dropped []string // why Sinter dropped it, when it was sent alone
	frames  [sides][]byte
	before  [][]byte // fragments that go ahead
	talk    *conversation
	of      packetOf // of the conversation
}

// output is a frame that came out.
type output struct {
	out   int // interface
	frame []byte
}

// newRig has Linux do what a scenario's chain says, and Sinter what a program does: of that chain, if the program is nil.
func newRig(t *testing.T, s *scenario, program *lab.Program) *rig {
	t.Helper()
	chain, compiled := s.chain(t)
	if program == nil {
		program = compiled
	}
	r := &rig{scenario: s, kernel: newKernel(t, s, &chain.Spec)}
	for i := range chain.Spec.Functions {
		if n := chain.Spec.Functions[i].NAPT; n != nil {
			r.nat = newBindings(s, n, 0, 1)
		}
	}
	peers, box := lab.New(t, "peers"), lab.New(t, "sinter")
	var binds []string
	for i, l := range s.interfaces {
		for side, end := range [sides]lab.End{{Space: box, Device: l.name}, r.kernel.ends[l.name]} {
			peer := lab.End{Space: peers, Device: string("sl"[side]) + "-" + l.name}
			lab.Cable(t, end, peer)
			end.Space.Run(t, "ip", "link", "set", end.Device, "address", macText(boxMAC(i)))
			r.wires[side] = append(r.wires[side], peers.Wire(t, peer.Device, lab.LargeSlot))
		}
		// Sinter knows the MTU by the chain; its devices can do more.
		r.kernel.ends[l.name].Space.Run(t, "ip", "link", "set", l.name, "mtu", fmt.Sprint(l.mtu))
		binds = append(binds, l.name+"="+l.name)
	}
	r.kernel.configure(t)
	r.engine = lab.StartEngine(t, box, binds)
	r.engine.Load(t, program)
	r.exchange(t, nil)
	return r
}

// exchange sends packets into both sides, and returns all that came out by the time that both were done with them.
func (r *rig) exchange(t *testing.T, probes []*probe) (outs [sides][]output) {
	t.Helper()
	r.asked = [sides][]output{}
	for side := range sides {
		for i, w := range r.wires[side] {
			var frames [][]byte
			for _, p := range probes {
				if p.in == i {
					frames = append(append(frames, p.before...), p.frames[side])
				}
			}
			for part := range slices.Chunk(frames, lab.Batch) {
				if err := w.Send(part...); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// The second fence is behind answers that the first one overtook.
	for range 2 {
		r.fence(t, &outs)
	}
	return outs
}

// fence sends a packet that always arrives behind all others, by each interface, and collects what comes before them.
func (r *rig) fence(t *testing.T, outs *[sides][]output) {
	t.Helper()
	r.fences++
	missing := 0
	for side := range sides {
		for i, w := range r.wires[side] {
			if err := w.Send(r.marker(i)); err != nil {
				t.Fatal(err)
			}
			missing++
		}
	}
	for end := time.Now().Add(lab.Patience); missing > 0; {
		markers, idle := r.poll(outs)
		missing -= markers
		if idle {
			if time.Now().After(end) {
				t.Fatalf("%d of the packets that mark the end of a batch did not arrive within %s; the engine said:\n%s",
					missing, lab.Patience, r.engine.Process.Text())
			}
			cpu.Nap(50 * time.Microsecond)
		}
	}
}

// poll collects what has come out. ARP requests are sent at any time: they are kept apart.
func (r *rig) poll(outs *[sides][]output) (markers int, idle bool) {
	idle = true
	for side := range sides {
		for i, w := range r.wires[side] {
			for _, f := range w.Poll() {
				idle = false
				n, marker := isMarker(f)
				switch {
				case marker && n == r.fences:
					markers++
				case marker:
				case isARPRequest(f):
					r.asked[side] = append(r.asked[side], output{i, slices.Clone(f)})
				default:
					outs[side] = append(outs[side], output{i, slices.Clone(f)})
				}
			}
		}
	}
	return markers, idle
}

// markerText is what tells fences from other packets.
const markerText = "sinter conformance fence"

// marker is the packet of a fence: an echo request to the interface, or a datagram to the next interface's host.
func (r *rig) marker(in int) []byte {
	l := r.interfaces[in]
	body := binary.BigEndian.AppendUint32([]byte(markerText), r.fences)
	p := packets.IPv4{Src: number(l.hosts()[0]), Dst: number(l.prefix().Addr()), TTL: 64, Proto: packets.ProtoICMP}
	if r.through {
		p.Dst = number(r.interfaces[(in+1)%len(r.interfaces)].hosts()[0])
		p.Proto = packets.ProtoUDP
		p.Payload = packets.UDP(p.Src, p.Dst, 9, 9, body)
	} else {
		p.Payload = packets.ICMP(packets.ICMPEchoRequest, 0, r.fences, body)
	}
	return packets.Ethernet(boxMAC(in), hostMAC(in, l.hosts()[0]), nil, packets.EtherIPv4, p.Bytes(), nil)
}

func isMarker(frame []byte) (n uint32, ok bool) {
	const at = 14 + 20 + 8
	if len(frame) < at+len(markerText)+4 || string(frame[at:at+len(markerText)]) != markerText {
		return 0, false
	}
	return binary.BigEndian.Uint32(frame[at+len(markerText):]), true
}

// isARPRequest is for packets that each side may send at any time.
func isARPRequest(frame []byte) bool {
	v, ok := packets.Parse(frame)
	return ok && v.EtherType == packets.EtherARP && len(frame) >= 22 && frame[21] == packets.ARPRequest
}
