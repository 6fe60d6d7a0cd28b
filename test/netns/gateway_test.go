package netns

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestANeighbourInUseIsAskedWhetherItIsStillThere has the host send to a neighbour that answers probes, and then falls
// silent: nothing is lost before, and nothing is sent to its old address for good.
func TestANeighbourInUseIsAskedWhetherItIsStillThere(t *testing.T) {
	lab.Require(t)
	if testing.Short() {
		t.Skip("-short: test_neigh_table has it on a clock that it sets; here it takes two minutes")
	}
	t.Parallel()
	s := newSite(t)
	const silent = "198.51.100.99" // not the kernel's, which would answer for itself
	s.engine = lab.StartEngine(t, s.box, officeBinds, "--idle-sleep", "2000")
	s.engine.Load(t, lab.Compile(t, lab.ParseText(t, plain)))
	w := s.peer.Wire(t, "eth0", lab.LargeSlot)
	c, err := dial(s.host, "udp", officeHost+":5000", silent+":5000")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began, last := time.Now(), time.Now()
	probes, packetsSeen, sent := 0, 0, 0
	var died time.Time
	for ; died.IsZero() || time.Since(died) < 58*time.Second; time.Sleep(20 * time.Millisecond) {
		if _, err := c.Write([]byte("anybody?")); err == nil { // else the host was told that nobody is there
			sent++
		}
		for _, f := range w.Poll() {
			v, _ := packets.Parse(f)
			question := v.EtherType == packets.EtherARP && len(f) >= 42 && binary.BigEndian.Uint32(f[38:]) == number(silent)
			switch {
			case question && v.DstMAC == w.MAC:
				probes++
			case !question && v.EtherType == packets.EtherIPv4 && v.DstMAC == w.MAC:
				packetsSeen++
				last = time.Now()
			}
			if question && died.IsZero() {
				reply := packets.ARP(packets.ARPReply, w.MAC, number(silent), v.SrcMAC, number(officeOutside))
				if err := w.Send(packets.Ethernet(v.SrcMAC, w.MAC, nil, packets.EtherARP, reply, nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if died.IsZero() && probes == 1 {
			if age := time.Since(began); age < 20*time.Second {
				t.Errorf("the neighbour was asked again after %s", age)
			}
			if packetsSeen < sent-5 {
				t.Errorf("%d of %d packets came while the neighbour was there", packetsSeen, sent)
			}
			died = time.Now()
		}
	}
	if probes != 4 {
		t.Errorf("the neighbour was probed %d times, want once while it lived and three times then", probes)
	}
	if age := time.Since(last); age < 3*time.Second {
		t.Errorf("packets were sent to the address of the dead until %s ago", age)
	}
	if n := s.engine.Dropped(t, "host-unreachable"); n == 0 {
		t.Error("the sender was never told that the neighbour does not answer")
	}
}
