package programs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/test/differential/draw"
	"github.com/sinter-nfv/sinter/test/differential/rig"
	"github.com/sinter-nfv/sinter/test/packets"
)

// listed is a firewall without state whose rules are so many that workers remember the classes of headers.
func listed() string {
	var rules strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rules, "      - {name: r%d, source: [10.%d.0.0/16], destinationPorts: [%d], action: Drop}\n", i, 100+i%50, 1000+7*i)
	}
	return `  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 192.0.2.1/24, gateway: 192.0.2.254}
  functions:
  - name: fw
    firewall:
      rules:
` + rules.String() + `      - {name: opens, protocol: tcp, tcpFlags: {set: [SYN], clear: [ACK]}, action: Drop}
      - {name: voice, dscp: 46, action: Drop}
      - {name: rest, action: Accept}
  path: [inside, fw, outside]
`
}

// Acknowledgements were let in, and then the SYN of the same ports, too.
func TestHeadersThatDifferInFlagsOrDSCPAloneHaveTheirOwnClasses(t *testing.T) {
	p := rig.NewPair(t, listed())
	const passes = "outside: 10.0.0.2 > 8.8.8.8 ttl 64 tcp 40000 > 80 flags %#x seq 1000 ack 0"
	voice := func(flags uint8) packets.IPv4 {
		ip := draw.TCPTo("10.0.0.2", "8.8.8.8", flags, "")
		ip.TOS = 46 << 2
		return ip
	}
	for range 3 { // known the second time
		p.Wants("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.ACK, ""), fmt.Sprintf(passes, packets.ACK))
		p.Wants("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN, ""), "drop fw/drop")
		p.Wants("inside", draw.TCPTo("10.0.0.2", "8.8.8.8", packets.SYN|packets.ACK, ""), fmt.Sprintf(passes, packets.SYN|packets.ACK))
		p.Wants("inside", voice(packets.ACK), "drop fw/drop")
	}
	if err := p.Rig.Finish(t.Context(), p.Now); err != nil {
		t.Error(err)
	}
}
