package program

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/headerspace"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	protoICMP, protoTCP, protoUDP = 1, 6, 17

	flagRST = 0x04
)

// Packets that generators tell apart (docs/elements.md, "The elements").
var (
	wholes       = headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragWhole))
	echoRequests = oneOf(wholes.With(headerspace.Proto, headerspace.Of(protoICMP)).With(headerspace.ICMPType, headerspace.Of(8)))
	resets       = wholes.With(headerspace.Proto, headerspace.Of(protoTCP)).With(headerspace.TCPFlags, headerspace.Masked(headerspace.TCPFlags, flagRST, flagRST))
	segments     = oneOf(wholes.With(headerspace.Proto, headerspace.Of(protoTCP)).With(headerspace.TCPFlags, headerspace.Masked(headerspace.TCPFlags, 0, flagRST)))
	datagrams    = oneOf(started(headerspace.Of(protoUDP)).With(headerspace.DPort, headerspace.Range(0, 65535)))
	// pieces are fragments that may be of an echo request.
	pieces = oneOf(
		headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(protoICMP)).With(headerspace.Frag, headerspace.Of(headerspace.FragFirst)).With(headerspace.ICMPType, headerspace.Of(8)),
		headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(protoICMP)).With(headerspace.Frag, headerspace.Of(headerspace.FragLater)),
	)
	others = oneOf(started(headerspace.Full(headerspace.Proto).Subtract(headerspace.Of(protoICMP, protoTCP, protoUDP))))
	// suppressed are the packets about which no error is sent; an ICMP message without type may be one itself.
	suppressed = oneOf(
		headerspace.Filter{}.With(headerspace.Proto, headerspace.Of(protoICMP)).With(headerspace.ICMPType, headerspace.Of(3, 4, 5, 11, 12, 256)),
		headerspace.Filter{}.With(headerspace.Frag, headerspace.Of(headerspace.FragLater)),
	)
)

func oneOf(filters ...headerspace.Filter) []headerspace.Filter { return filters }

// started are packets of protocols that are whole, or at least begin.
func started(protocols headerspace.Set) headerspace.Filter {
	return headerspace.Filter{}.With(headerspace.Proto, protocols).With(headerspace.Frag, headerspace.Of(headerspace.FragWhole, headerspace.FragFirst))
}

// answers are the ends at a generator.
func answers(g *programpb.Generator) []End {
	limited := []string{"icmp-rate"}
	verified := []string{"bad-checksum", "icmp-rate"}
	ping := End{When: echoRequests, Words: "whole echo requests", Answer: "echo reply", Unless: []string{"bad-checksum"}}
	reset := End{When: segments, Words: "whole TCP segments but resets", Answer: "TCP reset", Unless: limited}
	failure := End{Answer: fmt.Sprintf("ICMP %d/%d by %s", g.GetType(), g.GetCode(), g.GetName()), Unless: limited}
	silent := End{When: suppressed, Words: "ICMP errors, ICMP without header, later fragments", Drop: "icmp-suppressed"}
	switch g.GetKind() {
	case programpb.Generator_ICMP_ERROR:
	case programpb.Generator_ECHO_REPLY:
		return []End{ping, {Drop: "local"}}
	case programpb.Generator_LOCAL_HOST:
		reset.Unless = verified
		return []End{
			ping, reset,
			{When: pieces, Words: "fragments of echo requests", Answer: "echo reply", Unless: []string{"local"}},
			{When: datagrams, Words: "UDP with its header", Answer: "ICMP 3/3", Unless: verified},
			{When: others, Words: "other protocols but later fragments", Answer: "ICMP 3/2", Unless: limited},
			{Drop: "local"},
		}
	case programpb.Generator_REJECT:
		silent.When = append(oneOf(resets), silent.When...)
		silent.Words = "TCP resets, " + silent.Words
		return []End{reset, silent, failure}
	}
	return []End{silent, failure}
}
