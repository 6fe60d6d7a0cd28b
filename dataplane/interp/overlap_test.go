package interp

import "testing"

// replied is what the host gets of a server's answer.
func replied(sport, dport uint16) pkt {
	return delivered(pkt{src: "198.51.100.1", dst: "10.0.0.2", sport: sport, dport: dport})
}

func TestFlowsToDifferentRemotesMayShareAPortWherePortsOverlap(t *testing.T) {
	c := natted(pool()).overlapping()
	only(t, c.Process(0, inside, udp(1, 53).frame(), choosing("192.0.2.10:2000")))
	only(t, c.Process(0, inside, udp(2, 54).frame(), choosing("192.0.2.10:2000")))
	dropped(t, c.Process(0, inside, udp(3, 54).frame(), choosing("192.0.2.10:2000")), "nat-exhausted")
	want(t, c.Process(0, outside, back(udp(53, 2000), "192.0.2.10").frame(), nil), replied(53, 1))
	want(t, c.Process(0, outside, back(udp(54, 2000), "192.0.2.10").frame(), nil), replied(54, 2))
	dropped(t, c.Process(0, outside, back(udp(55, 2000), "192.0.2.10").frame(), nil), "nat-no-binding")
}

func TestOneOfTwoFlowsThatShareAPortEndsWithoutTheOther(t *testing.T) {
	syn := func(sport, dport uint16) pkt { return pkt{proto: 6, flags: "S", sport: sport, dport: dport} }
	ack := back(pkt{proto: 6, flags: "A", sport: 80, dport: 2000}, "192.0.2.10")
	for name, k := range map[string]struct {
		at  float64
		end func(*Chain) error
	}{
		"displaced": {9.5, func(c *Chain) error {
			return c.Evict(seconds(9), Binding{Node: "nat", Proto: 6, Inside: ap("10.0.0.2:2"), Remote: ap("198.51.100.1:81")})
		}},
		"expired": {11, func(c *Chain) error {
			only(t, c.Process(seconds(9), inside, syn(1, 80).frame(), nil))
			for _, n := range c.nats() {
				n.forget(seconds(11))
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := natted(pool()).overlapping()
			only(t, c.Process(0, inside, syn(1, 80).frame(), choosing("192.0.2.10:2000")))
			only(t, c.Process(0, inside, syn(2, 81).frame(), choosing("192.0.2.10:2000")))
			if err := k.end(c); err != nil {
				t.Fatal(err)
			}
			only(t, c.Process(seconds(k.at), outside, ack.frame(), nil))
			other := back(pkt{proto: 6, flags: "A", sport: 81, dport: 2000}, "192.0.2.10")
			dropped(t, c.Process(seconds(k.at), outside, other.frame(), nil), "nat-no-binding")
		})
	}
}

func TestASharedPortIsAChoiceThatOnlyOverlappingPortsAllow(t *testing.T) {
	shown := func(dport uint16) pkt { return pkt{src: "192.0.2.10", sport: 2000, dport: dport} }
	c := natted(pool()).chain()
	follow(t, c, 0, udp(1, 53), shown(53))
	follow(t, c, 0, udp(2, 54), shown(54), MismatchChoice)
	c = natted(pool()).overlapping()
	follow(t, c, 0, udp(1, 53), shown(53))
	follow(t, c, 0, udp(2, 54), shown(54))
	follow(t, c, 0, udp(3, 54), shown(54), MismatchChoice)
	follow(t, c, 0, udp(4, 55), pkt{src: "192.0.2.10", sport: 1999, dport: 55}, MismatchChoice)
}
