package connectivity

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/test/packets"
)

// fast has no patience: what the oracle does not do at once, it never does.
var fast = Timing{Reply: 500 * time.Millisecond, Attempts: 2, Drops: time.Second, Poll: time.Millisecond}

// Sides of the chain, by the numbers of its interfaces.
const (
	inside = iota
	outside
)

// oracle is the chain of chain.yaml with a fake wire at each interface.
type oracle struct {
	mu      sync.Mutex
	chain   *interp.Chain
	dropped map[string]int64
	wires   [2]*fakeWire
	tampers func(side int, frame []byte) []byte // what a wire makes of a frame that leaves the chain; nil: it is lost
}

// macs are the chain's.
var macs = [2]packets.MAC{{2, 0x73, 0x6e, 0, 0, inside}, {2, 0x73, 0x6e, 0, 0, outside}}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	bundle, found := manifest.Parse("chain.yaml", chainText, nil)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	c, err := compile.Bundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	options := interp.Options{MACs: []net.HardwareAddr{macs[inside][:], macs[outside][:]}}
	o := &oracle{chain: interp.New(c.Graph, options), dropped: map[string]int64{}}
	for side := range o.wires {
		o.wires[side] = &fakeWire{
			mac: packets.MAC{2, 0, 0, 0, 0, byte(side)}, frames: make(chan []byte, arrivals),
			send: func(frame []byte) error { o.send(side, frame); return nil },
		}
	}
	return o
}

// send passes a frame into the chain.
func (o *oracle) send(side int, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op, sender, senderIP, target, ok := arpMessage(frame); ok {
		if own := []uint32{insideAddress, outsideAddress}[side]; op == packets.ARPRequest && target == own {
			reply := packets.ARP(packets.ARPReply, macs[side], own, sender, senderIP)
			o.leaves(side, packets.Ethernet(sender, macs[side], nil, packets.EtherARP, reply, nil))
		}
		return
	}
	result := o.chain.Process(0, side, frame, nil)
	for _, d := range result.Drops {
		o.dropped[d.Reason]++
	}
	for _, out := range result.Out {
		if out.Unresolved {
			copy(out.Frame, o.wires[out.Interface].mac[:])
		}
		o.leaves(out.Interface, out.Frame)
	}
}

func (o *oracle) leaves(side int, frame []byte) {
	if o.tampers != nil {
		frame = o.tampers(side, frame)
	}
	if frame != nil {
		o.wires[side].frames <- frame
	}
}

// drops is what the chain's status would have.
func (o *oracle) drops(context.Context) (map[string]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.dropped), nil
}

func (o *oracle) trial() *trial { return newTrial(o.wires[inside], o.wires[outside], o.drops, fast) }

// fakeWire is a wire to something in the test.
type fakeWire struct {
	mac    packets.MAC
	frames chan []byte
	send   func([]byte) error
	err    error
}

func (w *fakeWire) MAC() packets.MAC        { return w.mac }
func (w *fakeWire) Send(frame []byte) error { return w.send(frame) }
func (w *fakeWire) Frames() <-chan []byte   { return w.frames }
func (w *fakeWire) Err() error              { return w.err }
