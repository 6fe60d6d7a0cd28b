package click

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func init() {
	register("1/1", configureShaper(false), enterRate, "Shaper")
	register("1/1", configureShaper(true), enterRate, "BandwidthShaper")
	register("1/1", configureBucket(false), enterRate, "RatedUnqueue")
	register("1/1", configureBucket(true), enterRate, "BandwidthRatedUnqueue")
	register("1/2", configureBucket(false), enterSplitter, "RatedSplitter")
	register("1/2", configureBucket(true), enterSplitter, "BandwidthRatedSplitter")
}

// configureShaper reads a rate without a burst. Click's queue before it holds what comes in bursts; here a bucket of 50 ms does.
func configureShaper(bandwidth bool) func(*reader) *v1alpha1.Meter {
	return func(r *reader) *v1alpha1.Meter {
		a, ok := r.required("RATE", "1000000")
		if !ok {
			return nil
		}
		m, _ := r.rate(a, bandwidth)
		return m
	}
}

// clickBurst is what Click's token buckets hold unless they are told.
const clickBurst = 20 * time.Millisecond

// leastBurst is the least that a bucket holds here, in bytes and packets: a packet of an MTU of 1500 has to fit.
const leastBurst = 1500

func configureBucket(bandwidth bool) func(*reader) *v1alpha1.Meter {
	return func(r *reader) *v1alpha1.Meter {
		a, ok := r.required("RATE", "1000000")
		if !ok {
			return nil
		}
		m, perSecond := r.rate(a, bandwidth)
		burst, least := perSecond*float64(clickBurst)/float64(time.Second), 1.0
		if bandwidth {
			least = leastBurst
		}
		if d, ok := r.keyword("BURST_DURATION"); ok {
			t, err := seconds(d.Text)
			if err != nil {
				r.fail(d, d.Text, "not a time; write it like 20ms or 0.02")
			}
			burst = perSecond * t.Seconds()
		}
		for _, name := range []string{"BURST_SIZE", "BURST_BYTES"} {
			if b, ok := r.keyword(name); ok {
				n, _ := r.number(b, "the size of a bucket", 1, 1<<31-1)
				burst = float64(n)
			}
		}
		if m != nil {
			size := intstr.FromString(fmt.Sprint(int64(max(burst, least))))
			m.Burst = &size
		}
		return m
	}
}

// rate reads packets per second, or a bandwidth; perSecond is packets, or bytes.
func (r *reader) rate(a click.Arg, bandwidth bool) (m *v1alpha1.Meter, perSecond float64) {
	text := strings.ReplaceAll(unquoted(a.Text), " ", "")
	n := len(text)
	for n > 0 && (text[n-1] < '0' || text[n-1] > '9') {
		n--
	}
	v, err := strconv.ParseFloat(text[:n], 64)
	factor, ok := unitOf(text[n:], bandwidth)
	if err != nil || !ok || v*factor < 1 || v*factor > 1e15 {
		example := "a number of packets per second, like 1000"
		if bandwidth {
			example = `a number of bytes per second, or a bandwidth like "8Mbps"`
		}
		r.fail(a, a.Text, "not a rate; write %s", example)
		return nil, 0
	}
	perSecond = v * factor
	if bandwidth {
		return &v1alpha1.Meter{Rate: v1alpha1.Rate(fmt.Sprintf("%.0fbit/s", perSecond*8))}, perSecond
	}
	return &v1alpha1.Meter{Rate: v1alpha1.Rate(fmt.Sprintf("%.0fpps", perSecond))}, perSecond
}

// unitOf is the factor of a unit of bandwidth: bytes per second, unless it says bits. Rates of packets have none.
func unitOf(unit string, bandwidth bool) (float64, bool) {
	factor := 1.0
	if unit != "" {
		if k, ok := map[byte]float64{'k': 1e3, 'K': 1e3, 'M': 1e6, 'G': 1e9}[unit[0]]; ok {
			factor, unit = k, unit[1:]
		}
	}
	switch {
	case unit == "":
		return factor, true
	case !bandwidth:
		return 0, false
	case unit == "bps" || unit == "b/s" || unit == "baud":
		return factor / 8, true
	case unit == "Bps" || unit == "B/s":
		return factor, true
	}
	return 0, false
}

// seconds reads a time as Click writes it: seconds, or with a unit.
func seconds(s string) (time.Duration, error) {
	s = strings.ReplaceAll(unquoted(s), " ", "")
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < 1e9 {
		return time.Duration(v * float64(time.Second)), nil
	}
	for long, short := range map[string]string{"sec": "s", "min": "m", "hr": "h"} {
		if t, ok := strings.CutSuffix(s, long); ok {
			s = t + short
		}
	}
	return time.ParseDuration(s)
}

// enterRate drops what is above the rate. There is no queue in which it could wait.
func enterRate(x *visit, m *v1alpha1.Meter) target {
	t := target(x.addMeter(m))
	x.link(t, x.onward(0, x.state))
	return t
}

func (x *visit) addMeter(m *v1alpha1.Meter) string {
	name := x.add(x.el.Name, v1alpha1.Element{Kind: v1alpha1.ElementMeter, Meter: m}, Made{Pos: x.el.Pos})
	x.memo[x.place] = target(name)
	return name
}

// enterSplitter: a meter drops what is above the rate, so that this must be all that becomes of it.
func enterSplitter(x *visit, m *v1alpha1.Meter) target {
	t := target(x.addMeter(m))
	if above := x.onward(1, x.state); above != "" && !x.ends[above] {
		x.failOnce(x.element, false, "packets above the rate can only be dropped; connect output 1 to Discard")
	}
	x.link(t, x.onward(0, x.state))
	return t
}
