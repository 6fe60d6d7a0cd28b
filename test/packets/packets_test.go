package packets

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

var here, there = MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 2}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestBuiltFramesAreWhatAnotherLibraryWouldWrite has gopacket read them and compute every checksum again.
func TestBuiltFramesAreWhatAnotherLibraryWouldWrite(t *testing.T) {
	r := random()
	for i := range 2000 {
		f := Fields{
			VLAN: -1 + i%3, Src: r.Uint32(), Dst: r.Uint32(), Proto: []uint8{1, 6, 17}[i%3], TTL: uint8(i),
			Sport: 40000, Dport: 40001, Flags: SYN, Type: 8, ICMPRest: 7,
		}
		frame := Build(r, here, there, f, make([]byte, i%50))
		if v, ok := Parse(frame); !ok || v.IP.Src != f.Src || v.IP.Dst != f.Dst || v.IP.TTL != f.TTL {
			t.Fatalf("read back as %+v from\n%s", v, Describe(frame))
		}
		p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
		if p.ErrorLayer() != nil {
			t.Fatalf("%v\n%s", p.ErrorLayer().Error(), Describe(frame))
		}
		var all []gopacket.SerializableLayer
		for _, l := range p.Layers() {
			switch l := l.(type) {
			case *layers.IPv4:
				all = append(all, l)
			case *layers.TCP:
				_ = l.SetNetworkLayerForChecksum(p.NetworkLayer())
				all = append(all, l)
			case *layers.UDP:
				if l.Checksum == 0 {
					continue
				}
				_ = l.SetNetworkLayerForChecksum(p.NetworkLayer())
				all = append(all, l)
			case *layers.ICMPv4:
				all = append(all, l)
			}
		}
		if u, ok := p.TransportLayer().(*layers.UDP); ok && u.Checksum == 0 {
			continue // the checksum is left out on purpose
		}
		buf := gopacket.NewSerializeBuffer()
		body := gopacket.Payload(nil)
		if p.ApplicationLayer() != nil {
			body = p.ApplicationLayer().Payload()
		}
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{ComputeChecksums: true}, append(all, body)...); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(frame, buf.Bytes()) {
			t.Fatalf("want %x within\n%s", buf.Bytes(), Describe(frame))
		}
	}
}

func TestAReplyGoesBackTheWayTheFrameCame(t *testing.T) {
	r := random()
	syn := Build(r, here, there, Fields{VLAN: 5, Src: 1 << 24, Dst: 2 << 24, Proto: ProtoTCP, TTL: 9, Sport: 1024, Dport: 80}, nil)
	reply, ok := Reply(r, syn, SYN|ACK, nil)
	v, _ := Parse(reply)
	s, d, _ := v.IP.Ports()
	if !ok || v.DstMAC != there || v.IP.Src != 2<<24 || v.IP.Dst != 1<<24 || s != 80 || d != 1024 || v.vlan() != 5 {
		t.Errorf("got\n%s", Describe(reply))
	}
	if _, ok := Reply(r, reply[:20], 0, nil); ok {
		t.Error("a truncated frame got a reply")
	}
	unreachable, ok := ErrorAbout(r, syn, 3<<24, ICMPUnreachable, 1, 28)
	if v, _ := Parse(unreachable); !ok || v.IP.Dst != 1<<24 || len(v.IP.Payload) != 8+28 {
		t.Errorf("got\n%s", Describe(unreachable))
	}
}

func TestDiffNamesTheFieldThatDiffers(t *testing.T) {
	r := random()
	f := Fields{VLAN: -1, Src: 1 << 24, Dst: 2 << 24, Proto: ProtoUDP, TTL: 9, Sport: 1024, Dport: 80}
	want := Build(r, here, there, f, nil)
	v, _ := Parse(want)
	v.IP.TTL--
	got := Ethernet(here, there, nil, EtherIPv4, v.IP.Bytes(), make([]byte, len(want)-14-28))
	if d := strings.Join(Diff(want, got), "\n"); !strings.Contains(d, "TTL: expected 9, seen 8") {
		t.Errorf("got %q", d)
	}
	if d := Diff(want, want); d != nil {
		t.Errorf("equal frames differ: %q", d)
	}
}

func TestOddFramesNeverPanicAndLeaveTheOriginalAlone(t *testing.T) {
	r := random()
	frame := Build(r, here, there, Fields{Src: 1 << 24, Dst: 2 << 24, Proto: ProtoUDP, TTL: 9}, make([]byte, 9))
	was := bytes.Clone(frame)
	changed := 0
	for range 20000 {
		odd := Odd(r, frame)
		if len(odd) > 0 && r.IntN(3) == 0 {
			odd = Odd(r, odd)
		}
		Parse(odd)
		Describe(odd)
		if !bytes.Equal(odd, frame) {
			changed++
		}
	}
	if !bytes.Equal(frame, was) {
		t.Error("the original was changed")
	}
	if changed < 15000 {
		t.Errorf("only %d of 20000 frames were odd", changed)
	}
}
