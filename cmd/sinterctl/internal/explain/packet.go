package explain

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Spec is a packet as a user describes it by flags.
type Spec struct {
	Src, Dst     netip.Addr
	Proto        string // tcp, udp, icmp or a number
	SPort, DPort uint16
	TTL, DSCP    uint8
	VLAN         int    // -1: untagged
	Flags        string // of TCP, as in "SYN,ACK"
	ICMPType     uint8
	ICMPCode     uint8
	Payload      int // bytes
}

// source is the MAC address of the packets that are made here: a locally administered one.
var source = net.HardwareAddr{0x02, 0, 0, 0, 0, 0xfe}

// Frame makes an Ethernet frame to the MAC address.
func (s Spec) Frame(to net.HardwareAddr) ([]byte, error) {
	proto, err := protocol(s.Proto)
	if err != nil {
		return nil, err
	}
	eth := &layers.Ethernet{SrcMAC: source, DstMAC: to, EthernetType: layers.EthernetTypeIPv4}
	stack := []gopacket.SerializableLayer{eth}
	if s.VLAN >= 0 {
		eth.EthernetType = layers.EthernetTypeDot1Q
		stack = append(stack, &layers.Dot1Q{VLANIdentifier: uint16(s.VLAN), Type: layers.EthernetTypeIPv4})
	}
	ip := &layers.IPv4{Version: 4, TTL: s.TTL, TOS: s.DSCP << 2, Protocol: proto, SrcIP: s.Src.AsSlice(), DstIP: s.Dst.AsSlice(), Id: 1}
	stack = append(stack, ip)
	switch proto {
	case layers.IPProtocolTCP:
		tcp := &layers.TCP{SrcPort: layers.TCPPort(s.SPort), DstPort: layers.TCPPort(s.DPort), Window: 65535}
		if err := setFlags(tcp, s.Flags); err != nil {
			return nil, err
		}
		stack = append(stack, tcp)
		err = tcp.SetNetworkLayerForChecksum(ip)
	case layers.IPProtocolUDP:
		udp := &layers.UDP{SrcPort: layers.UDPPort(s.SPort), DstPort: layers.UDPPort(s.DPort)}
		stack = append(stack, udp)
		err = udp.SetNetworkLayerForChecksum(ip)
	case layers.IPProtocolICMPv4:
		stack = append(stack, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(s.ICMPType, s.ICMPCode), Id: s.SPort, Seq: 1})
	default: // its payload only
	}
	if err != nil {
		return nil, err
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append(stack, gopacket.Payload(make([]byte, s.Payload)))...); err != nil {
		return nil, fmt.Errorf("make packet: %w", err)
	}
	return buf.Bytes(), nil
}

// Flows tells whether packets that differ by SPort are of different flows. Of a protocol that is none they are not.
func (s Spec) Flows() bool {
	proto, err := protocol(s.Proto)
	switch {
	case err != nil:
		return false
	case proto == layers.IPProtocolICMPv4:
		return s.ICMPType == layers.ICMPv4TypeEchoRequest || s.ICMPType == layers.ICMPv4TypeEchoReply
	default:
		return proto == layers.IPProtocolTCP || proto == layers.IPProtocolUDP
	}
}

// Portable tells whether a frame is untagged TCP or UDP over IPv4, which can be given another source port.
func Portable(frame []byte) bool {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.DecodeOptions{NoCopy: true})
	return p.Layer(layers.LayerTypeDot1Q) == nil && p.Layer(layers.LayerTypeIPv4) != nil &&
		(p.Layer(layers.LayerTypeTCP) != nil || p.Layer(layers.LayerTypeUDP) != nil)
}

func protocol(s string) (layers.IPProtocol, error) {
	switch strings.ToLower(s) {
	case "tcp":
		return layers.IPProtocolTCP, nil
	case "udp":
		return layers.IPProtocolUDP, nil
	case "icmp":
		return layers.IPProtocolICMPv4, nil
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("--proto %s: want tcp, udp, icmp or a number up to 255", s)
	}
	return layers.IPProtocol(n), nil
}

func setFlags(tcp *layers.TCP, names string) error {
	flags := map[string]*bool{
		"FIN": &tcp.FIN, "SYN": &tcp.SYN, "RST": &tcp.RST, "PSH": &tcp.PSH,
		"ACK": &tcp.ACK, "URG": &tcp.URG, "ECE": &tcp.ECE, "CWR": &tcp.CWR,
	}
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		f, ok := flags[strings.ToUpper(name)]
		if !ok {
			return fmt.Errorf("--tcp-flags %s: unknown flag %q, want FIN, SYN, RST, PSH, ACK, URG, ECE or CWR", names, name)
		}
		*f = true
	}
	return nil
}

// Hex reads a frame written as hexadecimal digits; blanks and colons are ignored.
func Hex(s string) ([]byte, error) {
	digits := strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(s)
	for _, c := range digits {
		if !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return nil, fmt.Errorf("--hex: %q is no hexadecimal digit; want an Ethernet frame, two digits for each byte", c)
		}
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("--hex: the frame has %d digits; want two for each byte", len(digits))
	}
	return b, nil
}

// Pcap reads the n-th frame, counted from 1, of a pcap or pcapng file.
func Pcap(path string, n int) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	next, err := reader(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := 1; ; i++ {
		data, _, err := next.ReadPacketData()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: has %d packets, no packet %d", path, i-1, n)
		case err != nil:
			return nil, fmt.Errorf("%s: packet %d: %w", path, i, err)
		case i == n:
			return data, nil
		}
	}
}

func reader(b []byte) (gopacket.PacketDataSource, error) {
	r, err := pcapgo.NewReader(bytes.NewReader(b))
	if err == nil {
		return r, ethernet(r.LinkType())
	}
	ng, err := pcapgo.NewNgReader(bytes.NewReader(b), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		return nil, errors.New("neither a pcap nor a pcapng file")
	}
	return ng, ethernet(ng.LinkType())
}

func ethernet(t layers.LinkType) error {
	if t != layers.LinkTypeEthernet {
		return fmt.Errorf("holds %s, want Ethernet frames", t)
	}
	return nil
}

// Address sets the destination MAC address of a frame, as of a packet that arrives.
func Address(frame []byte, to net.HardwareAddr) []byte {
	if len(frame) < 6 {
		return frame
	}
	return append(bytes.Clone(to), frame[6:]...)
}

// reply is the frame that the receiver of a frame would answer with: addresses and ports
// swapped, an echo request turned into its reply, a SYN acknowledged.
func reply(frame []byte, to net.HardwareAddr) ([]byte, error) {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if !ok {
		return nil, errors.New("no reply to a packet that is not IPv4")
	}
	src, _ := netip.AddrFromSlice(ip.DstIP)
	dst, _ := netip.AddrFromSlice(ip.SrcIP)
	s := Spec{Src: src.Unmap(), Dst: dst.Unmap(), TTL: 64, DSCP: ip.TOS >> 2, VLAN: -1, Proto: strconv.Itoa(int(ip.Protocol))}
	if tag, ok := p.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q); ok {
		s.VLAN = int(tag.VLANIdentifier)
	}
	switch t := p.TransportLayer().(type) {
	case *layers.TCP:
		s.SPort, s.DPort, s.Flags = uint16(t.DstPort), uint16(t.SrcPort), "ACK"
		if t.SYN {
			s.Flags = "SYN,ACK"
		}
	case *layers.UDP:
		s.SPort, s.DPort = uint16(t.DstPort), uint16(t.SrcPort)
	}
	if icmp, ok := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); ok {
		if icmp.TypeCode.Type() != layers.ICMPv4TypeEchoRequest {
			return nil, fmt.Errorf("no reply to ICMP %s", icmp.TypeCode)
		}
		s.SPort = icmp.Id
	}
	return s.Frame(to)
}

// WritePcap writes frames to a pcap file.
func WritePcap(path string, frames [][]byte) error {
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		return err
	}
	for _, f := range frames {
		if err := w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(f), Length: len(f)}, f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
