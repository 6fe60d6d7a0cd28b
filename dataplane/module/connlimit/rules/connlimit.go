// Package rules has the rules of connection limiters in packet programs: an operation that finds or makes the connection of a host, and tables
// of connections.
package rules

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// maxConnections is how many a table may have; the engine has the same limit (../engine/sn_connlimit.c).
const maxConnections = 1 << 24

// connections are the tables of connections.
var connections = &rule.StateKind{
	Name:        "connections",
	Wanted:      "one of connections",
	Claims:      func(t *programpb.StateTable) bool { return t.GetConnectionLimit() != nil },
	Check:       table,
	Text:        tableText,
	Holds:       "connections of hosts",
	Memory:      rule.Flows,
	Subscribers: func(t *programpb.StateTable) uint32 { return t.GetConnectionLimit().GetSubscribers() },
}

func init() {
	rule.RegisterState(connections)
	rule.RegisterOperation[*programpb.Op_Connect](rule.Operation{
		Kind: rule.State,
		Check: func(p *programpb.Program, at string, o *programpb.Op) error {
			return rule.First(
				connections.Index(p, at, "connect.table", o.GetConnect().GetTable()),
				rule.Index(at, "connect.full", o.GetConnect().GetFull(), len(p.GetReasons())),
			)
		},
		Text: func(p *programpb.Program, o *programpb.Op) string {
			return "bound connections of " + p.GetTables()[o.GetConnect().GetTable()].GetName()
		},
		Unless: func(p *programpb.Program, o *programpb.Op) []string {
			c := o.GetConnect()
			if c.GetFromOutside() { // all of these pass
				return nil
			}
			return []string{p.GetReasons()[hosts(p, p.GetTables()[c.GetTable()]).GetReason()], p.GetReasons()[c.GetFull()]}
		},
	})
}

func table(p *programpb.Program, at string, t *programpb.StateTable) error {
	c := t.GetConnectionLimit()
	for _, timeout := range []struct {
		field string
		ms    uint32
	}{
		{"tcp_ms", c.GetTcpMs()},
		{"tcp_transitory_ms", c.GetTcpTransitoryMs()},
		{"tcp_closing_ms", c.GetTcpClosingMs()},
		{"udp_ms", c.GetUdpMs()},
		{"icmp_ms", c.GetIcmpMs()},
	} {
		if timeout.ms == 0 {
			return fmt.Errorf("%s: %s is 0, want at least 1", at, timeout.field)
		}
	}
	if n := t.GetMaxSessions(); n < 1 || n > maxConnections {
		return fmt.Errorf("%s: max_sessions is %d, want 1..%d connections", at, n, maxConnections)
	}
	if err := rule.Between(at, "subscribers", c.GetSubscribers(), 1, uint32(len(p.GetSubscribers()))); err != nil {
		return err
	}
	if s := hosts(p, t); s.GetMaxPorts() != 0 {
		return fmt.Errorf("%s: subscribers is %d (%s), whose max_ports is %d, want 0", at, c.GetSubscribers(), s.GetName(), s.GetMaxPorts())
	}
	return ownHosts(p, at, t)
}

// ownHosts refuses a set that an earlier table names too: each would count in it what the other one has.
func ownHosts(p *programpb.Program, at string, t *programpb.StateTable) error {
	for i, other := range p.GetTables() {
		if other == t {
			break
		}
		if n := t.GetConnectionLimit().GetSubscribers(); other.GetConnectionLimit().GetSubscribers() == n {
			return fmt.Errorf("%s: subscribers is %d (%s), which is that of tables[%d] (%s), want a set of its own", at, n, hosts(p, t).GetName(), i, other.GetName())
		}
	}
	return nil
}

// hosts are whose a table's connections are, and what each may have.
func hosts(p *programpb.Program, t *programpb.StateTable) *programpb.SubscriberLimits {
	return p.GetSubscribers()[t.GetConnectionLimit().GetSubscribers()-1]
}

func tableText(p *programpb.Program, t *programpb.StateTable) string {
	c, s := t.GetConnectionLimit(), hosts(p, t)
	ms := func(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
	return fmt.Sprintf("at most %d connections, tcp %s/%s/%s, udp %s, icmp %s, per /%d at most %d", t.GetMaxSessions(), ms(c.GetTcpMs()),
		ms(c.GetTcpTransitoryMs()), ms(c.GetTcpClosingMs()), ms(c.GetUdpMs()), ms(c.GetIcmpMs()), s.GetPrefixLen(), s.GetMaxSessions())
}
