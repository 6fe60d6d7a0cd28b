package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

func wires(before, now []*controlpb.WireStats) (out []Wire) {
	for _, w := range now {
		way := Wire{Out: w.GetOut(), Back: w.GetBack(), Checked: Checked{Sent: w.GetChecked(), Returned: w.GetReturned(), Lost: w.GetLost()}}
		if w.GetWatched() {
			way.Probes = &Probes{!w.GetDown(), w.GetProbes(), w.GetAnswers()}
		}
		var old *controlpb.WireStats
		if i := slices.IndexFunc(before, func(o *controlpb.WireStats) bool { return o.GetBack() == w.GetBack() && o.GetOut() == w.GetOut() }); i >= 0 {
			old = before[i]
		}
		way.Checked.Median, way.Checked.P99 = quantile(0.5, old, w), quantile(0.99, old, w)
		for _, c := range w.GetContradictions() {
			way.Checked.Contradictions = append(way.Checked.Contradictions, Contradiction{c.GetWhat(), c.GetPackets(), c.GetLately()})
		}
		out = append(out, way)
	}
	return out
}

func quantile(q float64, before, now *controlpb.WireStats) *float64 {
	at, ok := control.Quantile(q, before.GetTimes(), now.GetTimes())
	if !ok {
		return nil
	}
	seconds := control.WireTime(at)
	return &seconds
}

// text is the way in words.
func (w Wire) text() string {
	s := w.Out + " to " + w.Back
	if p := w.Probes; p != nil {
		s += fmt.Sprintf(": %s, %d of %d probes answered", upOrDown(p.Up), p.Answered, p.Sent)
	}
	var says []string
	for _, c := range w.Checked.Contradictions {
		says = append(says, fmt.Sprintf("%s of %d", c.What, c.Packets))
	}
	if len(says) > 0 {
		s += "; contradicts its declaration: " + strings.Join(says, ", ")
	}
	return s
}

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func seconds(s *float64) string {
	if s == nil {
		return "-"
	}
	return time.Duration(*s * 1e9).Round(time.Microsecond).String()
}
