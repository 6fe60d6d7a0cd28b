package connectivity

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/test/packets"
)

// Wire is the interface of a test host.
type Wire interface {
	MAC() packets.MAC
	Send(frame []byte) error
	// Frames are those that come in. It is closed when the wire ends.
	Frames() <-chan []byte
	// Err is why the wire ended, once Frames is closed.
	Err() error
}

// arrivals is how many frames wait to be looked at; what else comes in then is lost, as on a device.
const arrivals = 1024

// host is a host at the end of a wire.
type host struct {
	name    string
	address uint32
	wire    Wire
	timing  Timing

	gateway uint32      // the chain's address on the wire
	chain   packets.MAC // of the gateway, once it is resolved
	inbox   chan []byte
}

// newHost attaches a host, which answers ARP requests for its address until the wire ends.
func newHost(name string, w Wire, address, gateway uint32, timing Timing) *host {
	h := &host{name: name, wire: w, address: address, gateway: gateway, timing: timing, inbox: make(chan []byte, arrivals)}
	go h.listen()
	return h
}

func (h *host) listen() {
	defer close(h.inbox)
	for frame := range h.wire.Frames() {
		if reply := h.arp(frame); reply != nil {
			if h.wire.Send(reply) != nil {
				return
			}
			continue
		}
		if v, ok := packets.Parse(frame); !ok || v.DstMAC != h.wire.MAC() {
			continue // all that a busy network has for others would fill the inbox
		}
		select {
		case h.inbox <- frame:
		default:
		}
	}
}

// arpMessage is what an ARP frame says; ok is false for others.
func arpMessage(frame []byte) (op uint16, sender packets.MAC, senderIP, targetIP uint32, ok bool) {
	v, parsed := packets.Parse(frame)
	if !parsed || v.EtherType != packets.EtherARP || len(v.Tags) > 0 || len(frame) < 14+28 {
		return 0, sender, 0, 0, false
	}
	b := frame[14:]
	copy(sender[:], b[8:])
	return binary.BigEndian.Uint16(b[6:]), sender, binary.BigEndian.Uint32(b[14:]), binary.BigEndian.Uint32(b[24:]), true
}

// arp is the reply to a request for the host's address.
func (h *host) arp(frame []byte) []byte {
	op, sender, senderIP, target, ok := arpMessage(frame)
	if !ok || op != packets.ARPRequest || target != h.address {
		return nil
	}
	reply := packets.ARP(packets.ARPReply, h.wire.MAC(), h.address, sender, senderIP)
	return packets.Ethernet(sender, h.wire.MAC(), nil, packets.EtherARP, reply, nil)
}

// resolve asks for the chain's MAC.
func (h *host) resolve(ctx context.Context) error {
	question := packets.ARP(packets.ARPRequest, h.wire.MAC(), h.address, packets.MAC{}, h.gateway)
	frame := packets.Ethernet(packets.Broadcast, h.wire.MAC(), nil, packets.EtherARP, question, nil)
	_, _, err := h.ask(ctx, frame, func(got []byte) bool {
		op, sender, senderIP, _, ok := arpMessage(got)
		if !ok || op != packets.ARPReply || senderIP != h.gateway {
			return false
		}
		h.chain = sender
		return true
	})
	if err != nil {
		return fmt.Errorf("ARP for %s: %w", text(h.gateway), err)
	}
	return nil
}

// errSilent says that what was waited for did not come.
var errSilent = errors.New("nothing came")

// ask sends a frame until one comes in here that the predicate accepts.
func (h *host) ask(ctx context.Context, frame []byte, accept func([]byte) bool) (got []byte, attempts int, err error) {
	return h.deliver(ctx, frame, h, accept)
}

// deliver sends a frame until one comes in at another host that the predicate accepts.
func (h *host) deliver(ctx context.Context, frame []byte, to *host, accept func([]byte) bool) (got []byte, attempts int, err error) {
	for attempts = 1; attempts <= h.timing.Attempts; attempts++ {
		if err := h.send(frame); err != nil {
			return nil, attempts, err
		}
		got, err = to.wait(ctx, accept)
		if !errors.Is(err, errSilent) {
			return got, attempts, err
		}
	}
	return nil, h.timing.Attempts, fmt.Errorf("%w to the %s: %d frames sent by the %s", errSilent, to.name, h.timing.Attempts, h.name)
}

func (h *host) send(frame []byte) error {
	if err := h.wire.Send(frame); err != nil {
		return fmt.Errorf("the %s cannot send: %w", h.name, err)
	}
	return nil
}

// wait is the next frame that the predicate accepts.
func (h *host) wait(ctx context.Context, accept func([]byte) bool) ([]byte, error) {
	patience := time.NewTimer(h.timing.Reply)
	defer patience.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			return nil, errSilent
		case frame, open := <-h.inbox:
			if !open {
				return nil, fmt.Errorf("the wire of the %s ended: %w", h.name, h.wire.Err())
			}
			if accept(frame) {
				return slices.Clone(frame), nil
			}
		}
	}
}

// frame is a packet to the chain.
func (h *host) frame(p packets.IPv4, tags ...packets.Tag) []byte {
	return packets.Ethernet(h.chain, h.wire.MAC(), tags, packets.EtherIPv4, p.Bytes(), nil)
}
