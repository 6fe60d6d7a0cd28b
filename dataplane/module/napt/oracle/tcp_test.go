package oracle_test

import (
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/interp/testbed"
)

// segment is a TCP segment of the connection that the tests below follow.
type segment struct {
	at    float64 // s
	side  int
	flags string
	seq   uint32
	ack   uint32
	wnd   uint16
	scale int
}

func (s segment) frame() []byte {
	p := testbed.Packet{Proto: 6, Sport: 1000, Dport: 80, Flags: s.flags, Seq: s.seq, Ack: s.ack, Window: s.wnd, Scale: s.scale}
	if s.side == testbed.Outside {
		p.Sport, p.Dport = 80, 2000
		return testbed.Back(p, "192.0.2.10").Frame()
	}
	return p.Frame()
}

// handshake opens a connection: the client's next number is 101, the server's 501; windows are 1000 and 2000.
var handshake = []segment{
	{0, testbed.Inside, "S", 100, 0, 1000, 0},
	{0, testbed.Outside, "SA", 500, 101, 2000, 0},
	{0, testbed.Inside, "A", 101, 501, 1000, 0},
}

// Timeouts of testbed.Pool(): established 100 s, transitory 10 s.
var tcpCases = map[string]struct {
	after   []segment
	timeout float64 // from 0 on
}{
	"The handshake's end makes a connection established": {handshake, 100},
	"SYN and SYN-ACK alone do not":                       {handshake[:2], 10},
	"an ACK of the server to an opening does not": {
		[]segment{{0, testbed.Inside, "S", 100, 0, 1000, 0}, {1, testbed.Outside, "A", 500, 7, 2000, 0}}, 11,
	},
	"data both ways does, where no opening was seen": {
		[]segment{{0, testbed.Inside, "A", 1, 2, 9, 0}, {1, testbed.Outside, "A", 2, 1, 9, 0}, {2, testbed.Inside, "A", 1, 2, 9, 0}}, 102,
	},
	"a FIN ends it": {append(handshake[:3:3], segment{1, testbed.Outside, "FA", 501, 101, 2000, 0}), 11},
	"An RST with the number that the server expects closes": {append(handshake[:3:3], segment{1, testbed.Inside, "R", 101, 0, 0, 0}), 11},
	"an RST at the end of the server's window closes":       {append(handshake[:3:3], segment{1, testbed.Inside, "R", 2101, 0, 0, 0}), 11},
	"An RST outside the window does not close or refresh":   {append(handshake[:3:3], segment{1, testbed.Inside, "R", 2102, 0, 0, 0}), 100},
	"an RST before the window does not close":               {append(handshake[:3:3], segment{1, testbed.Inside, "R", 100, 0, 0, 0}), 100},
	"an RST from outside is judged by the client's window": {
		append(handshake[:3:3], segment{1, testbed.Outside, "RA", 1502, 101, 0, 0}, segment{2, testbed.Outside, "RA", 500, 101, 0, 0}), 100,
	},
	"an RST from outside in the client's window closes": {append(handshake[:3:3], segment{1, testbed.Outside, "RA", 1501, 101, 0, 0}), 11},
	"a window of zero leaves one number": {
		append(handshake[:3:3], segment{1, testbed.Inside, "A", 101, 501, 0, 0}, segment{2, testbed.Outside, "R", 502, 0, 0, 0}), 101,
	},
	"and that one closes": {
		append(handshake[:3:3], segment{1, testbed.Inside, "A", 101, 501, 0, 0}, segment{2, testbed.Outside, "R", 501, 0, 0, 0}), 12,
	},
	"windows are scaled where both sides said so": {[]segment{
		{0, testbed.Inside, "S", 100, 0, 1000, 7},
		{0, testbed.Outside, "SA", 500, 101, 2000, -1},
		{0, testbed.Inside, "A", 101, 501, 1000, 0},
		{1, testbed.Outside, "R", 501 + 1000<<7, 0, 0, 0},
	}, 11},
	"and no further": {[]segment{
		{0, testbed.Inside, "S", 100, 0, 1000, 7},
		{0, testbed.Outside, "SA", 500, 101, 2000, -1},
		{0, testbed.Inside, "A", 101, 501, 1000, 0},
		{1, testbed.Outside, "R", 502 + 1000<<7, 0, 0, 0},
	}, 100},
	"not where only one did": {[]segment{
		{0, testbed.Inside, "S", 100, 0, 1000, 7},
		{0, testbed.Outside, "SA", 500, 101, 2000, 0},
		{0, testbed.Inside, "A", 101, 501, 1000, 0},
		{1, testbed.Outside, "R", 1502, 0, 0, 0},
	}, 100},
	"numbers wrap": {[]segment{
		{0, testbed.Inside, "S", 100, 0, 1000, 0},
		{0, testbed.Outside, "SA", 0xfffffffe, 101, 2000, 0},
		{0, testbed.Inside, "A", 101, 0xffffffff, 1000, 0},
		{1, testbed.Outside, "R", 999, 0, 0, 0},
	}, 11},
	"An RST before the handshake's end changes nothing": {
		append(handshake[:2:2], segment{1, testbed.Outside, "R", 501, 0, 0, 0}, segment{2, testbed.Inside, "A", 101, 501, 1000, 0}), 102,
	},
	"A 5-tuple that is used again after FIN starts over": {append(append(handshake[:3:3],
		segment{1, testbed.Inside, "FA", 101, 501, 1000, 0}, segment{1, testbed.Outside, "FA", 501, 102, 2000, 0}, segment{1, testbed.Inside, "A", 102, 502, 1000, 0}),
		segment{5, testbed.Inside, "S", 9100, 0, 1000, 0}, segment{5, testbed.Outside, "SA", 9500, 9101, 2000, 0}, segment{5, testbed.Inside, "A", 9101, 9501, 1000, 0},
	), 105},
	"with a handshake of its own": {append(handshake[:3:3],
		segment{1, testbed.Inside, "FA", 101, 501, 1000, 0}, segment{5, testbed.Inside, "S", 9100, 0, 1000, 0}, segment{6, testbed.Inside, "A", 9101, 9501, 1000, 0},
	), 16},
	"also after RST": {append(handshake[:3:3], segment{1, testbed.Inside, "R", 101, 0, 0, 0},
		segment{5, testbed.Inside, "S", 9100, 0, 1000, 0}, segment{5, testbed.Outside, "SA", 9500, 9101, 2000, 0}, segment{5, testbed.Inside, "A", 9101, 9501, 1000, 0},
	), 105},
	"Other segments do not start it over": {append(handshake[:3:3],
		segment{1, testbed.Inside, "FA", 101, 501, 1000, 0}, segment{5, testbed.Outside, "SA", 9500, 9101, 2000, 0}, segment{5, testbed.Inside, "A", 9101, 9501, 1000, 0},
	), 15},
	"a SYN leaves an open connection as it is": {append(handshake[:3:3], segment{5, testbed.Inside, "S", 77, 0, 1000, 0}), 105},
}

func TestTheNATFollowsTCPConnections(t *testing.T) {
	for name, c := range tcpCases {
		t.Run(name, func(t *testing.T) {
			chain := start(&testbed.Natted(testbed.Pool()).Graph)
			for _, s := range c.after {
				testbed.Only(t, chain.Process(testbed.Seconds(s.at), s.side, s.frame(), choosing("192.0.2.10:2000")))
			}
			if n := len(chain.Sessions(testbed.Seconds(c.timeout))); n != 1 {
				t.Errorf("after exactly %v s the binding is gone", c.timeout)
			}
			if n := len(chain.Sessions(testbed.Seconds(c.timeout) + 1)); n != 0 {
				t.Errorf("after more than %v s the binding is still there", c.timeout)
			}
		})
	}
}
