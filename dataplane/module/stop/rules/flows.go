package rules

import (
	"fmt"
	"time"
)

// maxFlows is how many a table has; the engine has the same limit (../engine/sn_outside_flows.c).
const maxFlows = 1 << 24

// timed is what tables of flows have in common: when these end.
type timed interface {
	GetTcpMs() uint32
	GetTcpTransitoryMs() uint32
	GetTcpClosingMs() uint32
	GetUdpMs() uint32
	GetIcmpMs() uint32
}

// flows refuses timeouts that are none, and a number of flows that no table has.
func flows(at string, k timed, most uint32) error {
	for _, timeout := range []struct {
		field string
		ms    uint32
	}{
		{"tcp_ms", k.GetTcpMs()},
		{"tcp_transitory_ms", k.GetTcpTransitoryMs()},
		{"tcp_closing_ms", k.GetTcpClosingMs()},
		{"udp_ms", k.GetUdpMs()},
		{"icmp_ms", k.GetIcmpMs()},
	} {
		if timeout.ms == 0 {
			return fmt.Errorf("%s: %s is 0, want at least 1", at, timeout.field)
		}
	}
	if most < 1 || most > maxFlows {
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d flows", at, most, maxFlows)
	}
	return nil
}

func flowsText(k timed, most uint32) string {
	ms := func(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
	return fmt.Sprintf("at most %d flows, tcp %s/%s/%s, udp %s, icmp %s", most, ms(k.GetTcpMs()), ms(k.GetTcpTransitoryMs()), ms(k.GetTcpClosingMs()),
		ms(k.GetUdpMs()), ms(k.GetIcmpMs()))
}
