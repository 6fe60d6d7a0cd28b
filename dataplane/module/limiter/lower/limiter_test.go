package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

// limitChain is a chain with limits, line 11 the first.
func limitChain(limits ...string) string {
	return graphtest.Header + graphtest.TwoInterfaces + "  functions:\n  - name: lim\n    rateLimiter:\n      limits:\n      - " +
		strings.Join(limits, "\n      - ") + "\n  path: [inside, lim, outside]\n"
}

func TestWhatIsWrongWithALimit(t *testing.T) {
	const at = "chain.yaml:12: spec.functions[0].rateLimiter.limits[0]."
	for name, k := range map[string]struct{ limit, want string }{
		"a rate without unit":       {"{rate: 10}", at + `rate: "10": `},
		"a rate that is too low":    {"{rate: 1bit/s}", at + `rate: "1bit/s": must be from 1kbit/s to 1000Gbit/s`},
		"half a packet per second":  {"{rate: 1.5pps}", at + `rate: "1.5pps": must be a whole number of packets per second`},
		"a burst below a packet":    {"{rate: 1Mbit/s, burst: 1499}", at + `burst: "1499": holds no packet of the MTU, which would never pass; must be at least 1500 bytes`},
		"an excess burst below one": {"{rate: 1Mbit/s, excessBurst: 1k}", at + `excessBurst: "1k": holds no packet of the MTU`},
		"a peak burst below one":    {"{rate: 1Mbit/s, peakRate: 2Mbit/s, peakBurst: 1}", at + `peakBurst: "1": holds no packet of the MTU`},
		"a burst that is too large": {"{rate: 1Mbit/s, burst: 2G}", at + `burst: "2G": must be from 1 to 1150000000 bytes`},
		"a peak below the rate":     {"{rate: 1Mbit/s, peakRate: 999kbit/s}", at + `peakRate: "999kbit/s": must not be below rate, which is 1Mbit/s`},
		"a peak of another unit":    {"{rate: 1Mbit/s, peakRate: 2Mpps}", at + `peakRate: "2Mpps": counts other things than rate, which is 1Mbit/s`},
		"a DSCP of two colours":     {"{rate: 1pps, colorAware: {yellow: [12], red: [8, 12]}}", at + `colorAware.red[1]: "12": is also in colorAware.yellow[0]`},
		"buckets that take months":  {"{rate: 1kbit/s, burst: 1G, perSubscriber: {address: Source}}", at + `burst: is full again after more than 49 days`},
		"the name of a port":        {"{name: inside, rate: 1pps}", "inside and outside are the ports; take another name"},
		"both markers":              {"{rate: 1pps, excessBurst: 5, peakRate: 2pps}", "set excessBurst (RFC 2697) or peakRate (RFC 2698), not both"},
		"two things for a colour":   {"{rate: 1pps, red: {dscp: 3, action: Drop}}", "set exactly one of action, dscp"},
	} {
		t.Run(name, func(t *testing.T) {
			if found := graphtest.Findings(t, limitChain(k.limit)); !found.HasErrors() || !strings.Contains(found.String(), k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", found, k.want)
			}
		})
	}
	t.Run("two of a name", func(t *testing.T) {
		const want = `limits[1].name: "a": the name is taken by spec.functions[0].rateLimiter.limits[0]; limits need names of their own`
		if found := graphtest.Findings(t, limitChain("{name: a, from: Inside, rate: 1pps}", "{name: a, rate: 1pps}")); !strings.Contains(found.String(), want) {
			t.Errorf("got\n%s\nwant in it\n%s", found, want)
		}
	})
}

// TestDefaultsOfALimit looks at the elements that limits become.
func TestDefaultsOfALimit(t *testing.T) {
	for name, k := range map[string]struct{ limit, want string }{
		"50 ms of the rate":            {"{rate: 100Mbit/s}", "meter 100000000 bit/s burst 5000000, yellow pass, red drop lim/exceeded"},
		"ten packets at least":         {"{rate: 1Mbit/s}", "meter 1000000 bit/s burst 120000, yellow pass, red drop lim/exceeded"},
		"ten packets, of packets":      {"{rate: 20pps}", "meter 20 packet/s burst 10, yellow pass, red drop lim/exceeded"},
		"what a bucket holds at most":  {"{rate: 1000Gbit/s}", "meter 1000000000000 bit/s burst 9200000000, yellow pass, red drop lim/exceeded"},
		"the peak's burst by its rate": {"{rate: 100Mbit/s, peakRate: 200Mbit/s}", "burst 5000000, peak 200000000 bit/s burst 10000000"},
		"all given": {
			"{rate: 1kpps, burst: 20, excessBurst: 1k, colorAware: {yellow: [1], red: [2]}, yellow: {dscp: 3}, red: {action: Pass}, perSubscriber: {address: Destination, prefixLength: 24, max: 9}}",
			"meter 1000 packet/s burst 20, excess burst 1000, per dst/24 at most 9, comes yellow 1 red 2, yellow dscp 3, red pass",
		},
		"an untold subscriber": {"{rate: 1kpps, perSubscriber: {address: Source}}", "per src/32 at most 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			if dump := graphtest.Dump(t, limitChain(k.limit)); !strings.Contains(dump, k.want) {
				t.Errorf("got\n%s\nwant in it\n%s", dump, k.want)
			}
		})
	}
}
