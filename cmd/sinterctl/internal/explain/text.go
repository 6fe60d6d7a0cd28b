package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the story for people.
func (s Story) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "packet     in by %s: %s\n", s.Interface, s.Packet)
	for _, f := range s.Fate {
		fmt.Fprintf(&b, "fate       %s\n", f)
	}
	if len(s.Rewrite) > 0 {
		fmt.Fprintf(&b, "rewrite    %s\n", strings.Join(s.Rewrite, ", "))
	}
	if s.Answer != "" {
		fmt.Fprintf(&b, "answer     %s\n", s.Answer)
	}
	if len(s.Chain) > 0 {
		b.WriteString("\nits way through the chain\n")
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, c := range s.Chain {
			var notes []string
			for _, n := range []string{c.Why, c.Changed} {
				if n != "" {
					notes = append(notes, n)
				}
			}
			fmt.Fprintf(t, "  %s\t%s\n", c.Element, strings.Join(notes, "; "))
		}
		_ = t.Flush() // a strings.Builder takes all
	}
	if len(s.Program) > 0 {
		b.WriteString("\nits way through the program\n")
	}
	for _, l := range s.Program {
		if len(l.Merged) == 0 { // rounds of a loop
			fmt.Fprintf(&b, "  %s\n", l.Segment)
			continue
		}
		fmt.Fprintf(&b, "  segment %s, class %d: %s\n", l.Segment, l.Class, l.Filter)
		for _, d := range l.Does {
			fmt.Fprintf(&b, "    does       %s\n", d)
		}
		fmt.Fprintf(&b, "    stands for %s\n", strings.Join(l.Merged, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
