// Package connectivity tests a cluster by packets: it makes a small chain and two hosts, sends crafted frames through the chain, and
// compares what comes out, and what is dropped for which reason, with what must.
package connectivity

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Addresses of the test. Those of the chain are as chain.yaml has them.
var (
	insideAddress = ip("10.213.0.1")
	clientAddress = ip("10.213.0.7")

	outsideAddress = ip("198.18.0.1")
	serverAddress  = ip("198.18.0.254") // the gateway of the chain
	remoteAddress  = ip("192.0.2.53")   // a service behind the gateway, for which the server answers
	poolFirst      = ip("198.18.0.10")
	poolLast       = ip("198.18.0.11")

	strangerAddress = ip("203.0.113.9") // of no network of the test
)

// outsideMTU is that of the chain's outside.
const outsideMTU = 1400

// Ports of the test.
const (
	portDNS    = 53
	portWeb    = 80
	portTelnet = 23
	portOther  = 9999
	clientPort = 40000 // of the first flow; each takes the next
)

// Timing is how patient a test is.
type Timing struct {
	Reply    time.Duration // for one reply
	Attempts int           // to send a packet that must be replied to
	Drops    time.Duration // until the chain's status counts all that was dropped
	Poll     time.Duration // between two looks at the cluster
}

// defaultTiming suits a cluster: its instances report every few seconds.
var defaultTiming = Timing{Reply: time.Second, Attempts: 3, Drops: 30 * time.Second, Poll: time.Second}

// ip is an IPv4 address as package packets has it.
func ip(text string) uint32 {
	a := netip.MustParseAddr(text).As4()
	return binary.BigEndian.Uint32(a[:])
}

// text is the address for people.
func text(a uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], a)
	return netip.AddrFrom4(b)
}
