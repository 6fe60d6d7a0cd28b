package oracle_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
	"github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
)

// replied is what the host gets of a server's answer.
func replied(sport, dport uint16) testbed.Packet {
	return testbed.Delivered(testbed.Packet{Src: "198.51.100.1", Dst: "10.0.0.2", Sport: sport, Dport: dport})
}

func TestFlowsToDifferentRemotesMayShareAPortWherePortsOverlap(t *testing.T) {
	c := overlapping(testbed.Natted(testbed.Pool()))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(1, 53).Frame(), choosing("192.0.2.10:2000")))
	testbed.Only(t, c.Process(0, testbed.Inside, testbed.UDP(2, 54).Frame(), choosing("192.0.2.10:2000")))
	testbed.Dropped(t, c.Process(0, testbed.Inside, testbed.UDP(3, 54).Frame(), choosing("192.0.2.10:2000")), "nat-exhausted")
	testbed.Want(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(53, 2000), "192.0.2.10").Frame(), nil), replied(53, 1))
	testbed.Want(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(54, 2000), "192.0.2.10").Frame(), nil), replied(54, 2))
	testbed.Dropped(t, c.Process(0, testbed.Outside, testbed.Back(testbed.UDP(55, 2000), "192.0.2.10").Frame(), nil), "nat-no-binding")
}

func TestOneOfTwoFlowsThatShareAPortEndsWithoutTheOther(t *testing.T) {
	syn := func(sport, dport uint16) testbed.Packet {
		return testbed.Packet{Proto: 6, Flags: "S", Sport: sport, Dport: dport}
	}
	ack := testbed.Back(testbed.Packet{Proto: 6, Flags: "A", Sport: 80, Dport: 2000}, "192.0.2.10")
	for name, k := range map[string]struct {
		at  float64
		end func(*interp.Chain) error
	}{
		"displaced": {9.5, func(c *interp.Chain) error {
			return c.Evict(testbed.Seconds(9), pass.Binding{Node: "nat", Proto: 6, Inside: testbed.AddrPort("10.0.0.2:2"), Remote: testbed.AddrPort("198.51.100.1:81")})
		}},
		"expired": {11, func(c *interp.Chain) error {
			testbed.Only(t, c.Process(testbed.Seconds(9), testbed.Inside, syn(1, 80).Frame(), nil))
			oracle.Forget(c.Chain, testbed.Seconds(11))
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := overlapping(testbed.Natted(testbed.Pool()))
			testbed.Only(t, c.Process(0, testbed.Inside, syn(1, 80).Frame(), choosing("192.0.2.10:2000")))
			testbed.Only(t, c.Process(0, testbed.Inside, syn(2, 81).Frame(), choosing("192.0.2.10:2000")))
			if err := k.end(c); err != nil {
				t.Fatal(err)
			}
			testbed.Only(t, c.Process(testbed.Seconds(k.at), testbed.Outside, ack.Frame(), nil))
			other := testbed.Back(testbed.Packet{Proto: 6, Flags: "A", Sport: 81, Dport: 2000}, "192.0.2.10")
			testbed.Dropped(t, c.Process(testbed.Seconds(k.at), testbed.Outside, other.Frame(), nil), "nat-no-binding")
		})
	}
}

func TestASharedPortIsAChoiceThatOnlyOverlappingPortsAllow(t *testing.T) {
	shown := func(dport uint16) testbed.Packet { return testbed.Packet{Src: "192.0.2.10", Sport: 2000, Dport: dport} }
	c := start(&testbed.Natted(testbed.Pool()).Graph)
	follow(t, c, 0, testbed.UDP(1, 53), shown(53))
	follow(t, c, 0, testbed.UDP(2, 54), shown(54), interp.MismatchChoice)
	c = overlapping(testbed.Natted(testbed.Pool()))
	follow(t, c, 0, testbed.UDP(1, 53), shown(53))
	follow(t, c, 0, testbed.UDP(2, 54), shown(54))
	follow(t, c, 0, testbed.UDP(3, 54), shown(54), interp.MismatchChoice)
	follow(t, c, 0, testbed.UDP(4, 55), testbed.Packet{Src: "192.0.2.10", Sport: 1999, Dport: 55}, interp.MismatchChoice)
}
