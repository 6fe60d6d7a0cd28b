package dispatch

import (
	"strings"
	"testing"

	hs "github.com/sinter-nfv/sinter/dataplane/headerspace"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

func TestEachPortGetsTheStrongestDispatcherThatItsDeviceCanDo(t *testing.T) {
	p := edge(t)
	for name, c := range choices {
		t.Run(name, func(t *testing.T) {
			got := Choose(p, []Capabilities{c.inside, c.outside}, 4, shard.Bits)
			if got.Shards.Dispatcher != c.shards {
				t.Errorf("shards by %v, want %v", got.Shards.Dispatcher, c.shards)
			}
			for i, port := range got.Ports {
				if port.Dispatcher != c.want[i] || !strings.Contains(port.Why, c.why[i]) || port.Dispatcher == Flow && port.Why != "" {
					t.Errorf("%s: got %v because %q, want %v because %q", port.Interface, port.Dispatcher, port.Why, c.want[i], c.why[i])
				}
			}
		})
	}
}

// Capabilities of devices.
var (
	plain   = Capabilities{}
	rssOnly = Capabilities{Queues: 8, RSS: RSSCapabilities{Key: true, Buckets: 128, Ports: true}}
)

// ableBut is a device that can do all but something.
func ableBut(change func(*Capabilities)) Capabilities {
	c := able(1000)
	change(&c)
	return c
}

// choices are the dispatchers of two ports by what their devices can do.
var choices = map[string]struct {
	inside, outside Capabilities
	shards          Dispatcher
	want            [2]Dispatcher
	why             [2]string
}{
	"rules everywhere": {able(1000), able(1000), Flow, [2]Dispatcher{Flow, Flow}, [2]string{"", ""}},
	"RSS everywhere": {
		rssOnly, rssOnly, RSS,
		[2]Dispatcher{RSS, RSS},
		[2]string{"no flow: the device takes no flow rules", "no flow: the device takes no flow rules"},
	},
	"a port that can do nothing is handed over by software": {
		able(1000), plain, Flow, [2]Dispatcher{Flow, Software}, [2]string{"", "no flow: the device takes no flow rules; no rss: the device has no RSS"},
	},
	"one can only rules, the other only RSS": {
		ableBut(func(c *Capabilities) { c.RSS = RSSCapabilities{} }), rssOnly, Flow,
		[2]Dispatcher{Flow, Software},
		[2]string{"", "no rss: the chain's ports share one function from flows to shards, and more of them can do flow"},
	},
	"no masked ports": {
		ableBut(func(c *Capabilities) { c.RSS = RSSCapabilities{} }), ableBut(func(c *Capabilities) { c.Fields[hs.DPort] = Exact; c.RSS.Key = false }),
		Flow,
		[2]Dispatcher{Flow, Software},
		[2]string{"", "no flow: rules have to match dport by any bits, the device does it by whole value; no rss: its hash key cannot be set"},
	},
	"too little room for rules": {
		able(1000), ableBut(func(c *Capabilities) { c.Rules = 2 }), RSS, [2]Dispatcher{RSS, RSS}, [2]string{"", "no flow: queues need 8 rules, the device has room for 2"},
	},
	"a small indirection table": {
		able(1000), ableBut(func(c *Capabilities) { c.Rules, c.RSS.Buckets = 0, 64 }), Flow,
		[2]Dispatcher{Flow, Software},
		[2]string{"", "no rss: its indirection table has 64 entries for 128 shards"},
	},
	"the driver's own words": {
		ableBut(func(c *Capabilities) { c.Rules, c.Refused = 0, "Function not implemented" }), able(1000), RSS,
		[2]Dispatcher{RSS, RSS},
		[2]string{"no flow: the device takes no flow rules: Function not implemented", "no flow: the chain's ports share one function"},
	},
}

func TestWhereFlowsAreDividedAlreadyADispatcherThatWantsThemOtherwiseIsNotTaken(t *testing.T) {
	p, both := edge(t), []Capabilities{able(1000), able(1000)}
	for shards, want := range map[Dispatcher][2]string{
		Flow:     {"flow", ""},
		RSS:      {"rss", "no flow: the engine's first program divided flows for rss dispatch, and that stays"},
		Software: {"software", "no flow: the engine's first program divided flows for software dispatch, and that stays; no rss: the engine's first"},
	} {
		c := ChooseUnder(Shards{Dispatcher: shards, Bits: shard.Bits}, p, both, 2)
		for _, port := range c.Ports {
			if port.Dispatcher.String() != want[0] || !strings.HasPrefix(port.Why, want[1]) || c.Shards.Dispatcher != shards {
				t.Errorf("divided for %v: %v because %q; want %v", shards, port.Dispatcher, port.Why, want)
			}
		}
	}
}

func TestRulesMatchTheBitsOfTheAddressByWhichFlowsAreDivided(t *testing.T) {
	p := edge(t)
	prefixes := able(1000)
	prefixes.Fields[hs.Src] = Prefix
	for shift, want := range map[int]Dispatcher{
		0:  Software, // the low bits of an address are no prefix
		25: Flow,     // the seven high ones are
	} {
		shards := Shards{Dispatcher: Flow, Bits: shard.Bits, AddressShift: shift}
		c := ChooseUnder(shards, p, []Capabilities{prefixes, able(1000)}, 2)
		if got := c.Ports[0]; got.Dispatcher != want || c.Shards != shards {
			t.Errorf("divided by the bits from %d on: %v by %+v because %q, want %v", shift, got.Dispatcher, c.Shards, got.Why, want)
		}
	}
}
