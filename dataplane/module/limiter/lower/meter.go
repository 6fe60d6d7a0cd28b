package lower

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
	"github.com/sinter-nfv/sinter/dataplane/graph/placement"
)

func init() {
	placement.Register(v1alpha1.ElementMeter, "meter", func(e *v1alpha1.Element) *v1alpha1.Meter { return e.Meter }, placeMeter)
}

func placeMeter(p *placement.Place, spec *v1alpha1.Meter) {
	if m, ok := readMeter(p.At, "meter", spec, p.Name+"/exceeded"); ok {
		p.Element = m
	}
}

// Buckets that the user gives no size hold so many milliseconds of the rate, and at least so many packets.
const (
	defaultBurstMs      = 50
	defaultBurstPackets = 10
	defaultPacketBits   = 1500 * 8
)

// maxFillSeconds is how long the buckets of a subscriber take to be full at most: the engine keeps entries for 2³² ms.
const maxFillSeconds = 49 * 24 * 3600

// readMeter reads a meter's parameters, which are in the field; empty: in the function's place itself. Packets that it drops are counted
// under the reason. ok is false if it has errors.
func readMeter(at lower.At, field string, spec *v1alpha1.Meter, reason string) (_ element.Meter, ok bool) {
	r := meterReader{At: at, prefix: field, ok: true}
	if field != "" {
		r.prefix += "."
	}
	rate, read := r.rate("rate", spec.Rate)
	r.m.Rate, r.m.Packets = rate.PerSecond, rate.Packets
	if !read {
		return r.m, false
	}
	r.m.Burst = r.burst("burst", spec.Burst, rate.PerSecond)
	switch {
	case spec.PeakRate != "":
		r.peak(spec)
	case spec.PeakBurst != nil:
		r.fail("peakBurst", spec.PeakBurst.String(), "needs peakRate; set it, or leave peakBurst out")
	case spec.ExcessBurst != nil:
		r.m.ExcessBurst = r.burst("excessBurst", spec.ExcessBurst, 0)
	}
	r.comes(spec.ColorAware)
	r.subscribers(spec.PerSubscriber)
	r.m.Yellow = r.action("yellow", spec.Yellow, element.MeterAction{}, reason)
	r.m.Red = r.action("red", spec.Red, element.MeterAction{Drop: reason}, reason)
	return r.m, r.ok
}

type meterReader struct {
	lower.At
	prefix string
	m      element.Meter
	ok     bool
}

func (r *meterReader) fail(field, value, format string, args ...any) {
	r.ok = false
	r.Fail(r.prefix+field, value, format, args...)
}

func (r *meterReader) rate(field string, spec v1alpha1.Rate) (rules.Rate, bool) {
	rate, message := rules.ParseRate(string(spec))
	if message != "" {
		r.fail(field, string(spec), "%s", message)
	}
	return rate, message == ""
}

func (r *meterReader) peak(spec *v1alpha1.Meter) {
	if spec.ExcessBurst != nil {
		r.fail("excessBurst", spec.ExcessBurst.String(), "is of a single rate (RFC 2697), peakRate of two (RFC 2698); leave one of them out")
		return
	}
	peak, read := r.rate("peakRate", spec.PeakRate)
	switch {
	case !read:
		return
	case peak.Packets != r.m.Packets:
		r.fail("peakRate", string(spec.PeakRate), "counts other things than rate, which is %s; give both in bits or both in packets", spec.Rate)
		return
	case peak.PerSecond < r.m.Rate:
		r.fail("peakRate", string(spec.PeakRate), "must not be below rate, which is %s", spec.Rate)
	}
	r.m.PeakRate = peak.PerSecond
	r.m.ExcessBurst = r.burst("peakBurst", spec.PeakBurst, peak.PerSecond)
}

// burst is the tokens of a bucket. One that cannot hold a packet of the MTU would never let it pass.
func (r *meterReader) burst(field string, spec *intstr.IntOrString, rate uint64) uint64 {
	each, packet, what := uint64(8), uint64(r.Builder.MTU()), "bytes"
	if r.m.Packets {
		each, packet, what = 1, 1, "packets"
	}
	if spec == nil {
		least := max(defaultBurstPackets*defaultPacketBits, packet*each)
		if r.m.Packets {
			least = defaultBurstPackets
		}
		return min(max(rate*defaultBurstMs/1000, least), element.MaxBurst)
	}
	n, message := rules.ParseBurst(spec.String(), element.MaxBurst/each)
	switch {
	case message != "":
		r.fail(field, spec.String(), "%s %s", message, what)
	case n < packet:
		r.fail(field, spec.String(), "holds no packet of the MTU, which would never pass; must be at least %d %s", packet, what)
	}
	return n * each
}

func (r *meterReader) comes(spec *v1alpha1.ColorAware) {
	if spec == nil {
		return
	}
	first := map[int32]string{}
	read := func(name string, list []int32) (bits uint64) {
		for i, d := range list {
			field := lower.Index("colorAware."+name, i)
			if other, twice := first[d]; twice {
				r.fail(field, fmt.Sprint(d), "is also in %s; a packet comes with one colour", other)
			}
			first[d] = field
			if d < 0 || d > 63 {
				r.fail(field, fmt.Sprint(d), "not a DSCP; must be from 0 to 63")
				continue
			}
			bits |= 1 << d
		}
		return bits
	}
	r.m.ComesYellow, r.m.ComesRed = read("yellow", spec.Yellow), read("red", spec.Red)
}

func (r *meterReader) subscribers(spec *v1alpha1.PerSubscriber) {
	if spec == nil {
		return
	}
	second := r.m.Rate
	if r.m.PeakRate > 0 {
		second = r.m.PeakRate
	}
	if r.m.Burst/r.m.Rate+r.m.ExcessBurst/second > maxFillSeconds {
		r.fail("burst", "", "is full again after more than 49 days, for which no subscriber is remembered; take a smaller burst or a higher rate")
	}
	switch {
	case spec.Address != v1alpha1.SubscriberSource && spec.Address != v1alpha1.SubscriberDestination:
		r.fail("perSubscriber.address", string(spec.Address), "must be Source or Destination")
	case spec.PrefixLength < 1 || spec.PrefixLength > 32:
		r.fail("perSubscriber.prefixLength", fmt.Sprint(spec.PrefixLength), "must be from 1 to 32")
	case spec.Max < 1:
		r.fail("perSubscriber.max", fmt.Sprint(spec.Max), "must be at least 1")
	}
	r.m.Subscribers = element.Subscribers{
		Destination: spec.Address == v1alpha1.SubscriberDestination, PrefixLen: int(spec.PrefixLength), Max: int(spec.Max),
	}
}

func (r *meterReader) action(field string, spec *v1alpha1.ColorAction, otherwise element.MeterAction, reason string) element.MeterAction {
	switch {
	case spec == nil:
		return otherwise
	case spec.DSCP != nil && spec.Action != "" || spec.DSCP == nil && spec.Action == "":
		r.fail(field, string(spec.Action), "must have one of action and dscp")
	case spec.DSCP != nil && (*spec.DSCP < 0 || *spec.DSCP > 63):
		r.fail(field+".dscp", fmt.Sprint(*spec.DSCP), "not a DSCP; must be from 0 to 63")
	case spec.DSCP != nil:
		return element.MeterAction{Mark: true, DSCP: uint8(*spec.DSCP)}
	case spec.Action == v1alpha1.MeterDrop:
		return element.MeterAction{Drop: reason}
	case spec.Action != v1alpha1.MeterPass:
		r.fail(field+".action", string(spec.Action), "must be Pass or Drop")
	}
	return element.MeterAction{}
}
