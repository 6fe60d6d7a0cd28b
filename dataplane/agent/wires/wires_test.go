package wires_test

import (
	"net"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/agent/wires"
	"github.com/sinter-nfv/sinter/dataplane/binding"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

func TestWiresAreMadeOnceAndCarryFrames(t *testing.T) {
	lab.Require(t)
	s := lab.New(t, "pod")
	list := []binding.Wire{{Engine: "wire1", Function: "ips-inside", MTU: 9000}, {Engine: "wire2", Function: "ips-outside", MTU: 1500}}
	for range 2 { // the pod's containers may be started again
		lab.In(t, s, func() (any, error) { return nil, wires.Make(list) })
	}
	for _, w := range list {
		a, b := s.Wire(t, w.Engine, lab.LargeSlot), s.Wire(t, w.Function, lab.LargeSlot)
		frame := append(append(b.MAC[:], a.MAC[:]...), 0x88, 0xb6, 's', 'i', 'n', 't', 'e', 'r')
		if err := a.Send(frame); err != nil {
			t.Fatal(err)
		}
		// The first frame there is ours: the kernel sends none.
		b.Wait(t, "a frame over "+w.String(), func(f []byte) bool {
			if string(f) != string(frame) {
				t.Errorf("over %s came %x, sent was %x", w, f, frame)
			}
			return true
		})
		mtu := lab.In(t, s, func() (int, error) {
			i, err := net.InterfaceByName(w.Function)
			if err != nil {
				return 0, err
			}
			return i.MTU, nil
		})
		if mtu != w.MTU {
			t.Errorf("%s has an MTU of %d", w, mtu)
		}
	}
}

func TestAWireTakesNoNameOfAnotherDevice(t *testing.T) {
	lab.Require(t)
	s := lab.New(t, "pod")
	s.Run(t, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "other")
	for _, w := range []binding.Wire{{Engine: "wire1", Function: "eth0", MTU: 1500}, {Engine: "lo", Function: "ips", MTU: 1500}} {
		err := lab.In(t, s, func() (error, error) { return wires.Make([]binding.Wire{w}), nil })
		if err == nil || !strings.Contains(err.Error(), "the pod has another device") {
			t.Errorf("%s: got %v", w, err)
		}
	}
}
