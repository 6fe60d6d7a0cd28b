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
		way := Wire{Out: w.GetOut(), Back: w.GetBack(), Checked: Checked{Sent: w.GetChecked(), Returned: w.GetReturned()}}
		if w.GetWatched() {
			way.Probes = &Probes{!w.GetDown(), w.GetProbes(), w.GetAnswers()}
		}
		var old *controlpb.WireStats
		if i := slices.IndexFunc(before, func(o *controlpb.WireStats) bool { return o.GetBack() == w.GetBack() && o.GetOut() == w.GetOut() }); i >= 0 {
			old = before[i]
		}
		way.Checked.Median, way.Checked.P99 = quantile(0.5, old, w), quantile(0.99, old, w)
		for _, c := range w.GetChanges() {
			way.Checked.Changes = append(way.Checked.Changes, Change{c.GetField(), c.GetPackets(), c.GetLately()})
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
	switch {
	case w.Probes == nil:
	case w.Probes.Up:
		s += fmt.Sprintf(": up, %d of %d probes answered", w.Probes.Answered, w.Probes.Sent)
	default:
		s += fmt.Sprintf(": down, %d of %d probes answered", w.Probes.Answered, w.Probes.Sent)
	}
	var changes []string
	for _, c := range w.Checked.Changes {
		changes = append(changes, fmt.Sprintf("%s of %d", c.Field, c.Packets))
	}
	if len(changes) > 0 {
		s += "; changes what it does not declare: " + strings.Join(changes, ", ")
	}
	return s
}

func seconds(s *float64) string {
	if s == nil {
		return "-"
	}
	return time.Duration(*s * 1e9).Round(time.Microsecond).String()
}
