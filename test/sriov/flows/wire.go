package main

import (
	"encoding/binary"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/packets"
)

// receiveBuffer holds all that can be under way.
const receiveBuffer = 16 << 20

// ownMAC is the address of whoever is on the wire.
var ownMAC = packets.MAC{2, 0, 0, 0, 0, 0x99}

// wire is the kernel's side of a TAP device: what is sent there goes through the queueing discipline in which the device's rules
// are, and comes to the engine; what the engine sends is received.
type wire struct {
	fd   int
	port packets.MAC // of the engine's
}

func open(name string) (*wire, error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	for _, o := range []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return nil, fmt.Errorf("packet socket of %s: option %d: %w", name, o.name, err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}); err != nil {
		return nil, fmt.Errorf("packet socket of %s: %w", name, err)
	}
	return &wire{fd, packets.MAC(link.HardwareAddr)}, nil
}

func (w *wire) send(frame []byte) error {
	_, err := unix.Write(w.fd, frame)
	return err
}

// receive calls a function with each IPv4 packet, and answers whoever asks for an address other than the engine's.
func (w *wire) receive(packet func(packets.IPv4)) error {
	frame := make([]byte, 2048)
	for {
		n, err := unix.Read(w.fd, frame)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		view, ok := packets.Parse(frame[:n])
		switch {
		case ok && view.EtherType == packets.EtherIPv4:
			packet(view.IP)
		case view.EtherType == packets.EtherARP && n >= 42:
			if err := w.answer(frame[14:42]); err != nil {
				return err
			}
		}
	}
}

// answer is to an ARP request (RFC 826).
func (w *wire) answer(arp []byte) error {
	if binary.BigEndian.Uint16(arp[6:]) != packets.ARPRequest {
		return nil
	}
	asker, askerIP, wanted := packets.MAC(arp[8:14]), binary.BigEndian.Uint32(arp[14:]), binary.BigEndian.Uint32(arp[24:])
	if askerIP == wanted {
		return nil // it announces its own
	}
	reply := packets.ARP(packets.ARPReply, ownMAC, wanted, asker, askerIP)
	return w.send(packets.Ethernet(asker, ownMAC, nil, packets.EtherARP, reply, nil))
}
