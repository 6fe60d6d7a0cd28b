package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// stages in the order of a packet's way, as sinter-bench names them.
var stages = []string{"receive", "parse", "lookup", "classify", "rewrite", "send"}

// Text writes the measurement for people.
func (r *Result) Text(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	c := r.CyclesPerPacket
	fmt.Fprintf(t, "cycles per packet\t%.0f\tmedian over full bursts (10th percentile %.0f, 90th %.0f)\n", c.Median, c.P10, c.P90)
	if c.Median > 0 {
		fmt.Fprintf(t, "packets per second\t%.1f M\ton one core at %.1f GHz\n", float64(r.TSCHz)/c.Median/1e6, float64(r.TSCHz)/1e9)
	}
	for _, name := range stages {
		if v, ok := r.Stages[name]; ok {
			fmt.Fprintf(t, "  %s\t%.0f\n", name, v)
		}
	}
	fmt.Fprintf(t, "packets\t%d\t%d sent\n", r.Packets, r.Sent)
	for _, d := range r.Drops {
		fmt.Fprintf(t, "  dropped\t%d\tas %s\n", d.Packets, d.Reason)
	}
	_ = t.Flush() // a strings.Builder takes all
	_, err := io.WriteString(w, b.String())
	return err
}
