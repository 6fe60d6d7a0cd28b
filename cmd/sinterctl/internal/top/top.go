// Package top shows the heaviest flows, hosts and prefixes.
package top

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/flows"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// list is what may be asked for: how it is called, and what a chain writes for it.
type list struct{ name, by string }

var lists = []list{
	{"flows", "Flow"},
	{"sources", "Source"},
	{"destinations", "Destination"},
	{"source-prefixes", "SourcePrefix"},
	{"destination-prefixes", "DestinationPrefix"},
}

// Names are the lists that may be asked for.
func Names() []string {
	var out []string
	for _, l := range lists {
		out = append(out, l.name)
	}
	return out
}

// Known refuses a list that there is not.
func Known(name string) error {
	if slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("there is no list %q%s: want %s", name, finding.DidYouMean(name, Names()), strings.Join(Names(), ", "))
}

// Only leaves the list of a name in; empty: all.
func Only(t flows.Tops, name string) (flows.Tops, error) {
	if len(t.Lists) == 0 {
		return t, errors.New("the chain's monitor has no `top`: add one to list what is heaviest")
	}
	if name == "" {
		return t, nil
	}
	of := lists[slices.IndexFunc(lists, func(l list) bool { return l.name == name })]
	i := slices.IndexFunc(t.Lists, func(l flows.Top) bool { return l.By == of.by })
	if i < 0 {
		return t, fmt.Errorf("monitor %q does not list %s: add %s to its `top.by`", t.Monitor, name, of.by)
	}
	t.Lists = t.Lists[i : i+1]
	return t, nil
}

// Text writes the lists as tables.
func Text(w io.Writer, t flows.Tops) error {
	state := "running"
	if t.Ended {
		state = "last complete"
	}
	if _, err := fmt.Fprintf(w, "monitor %s, %s interval, %s\n", t.Monitor, state, t.Took.Round(time.Millisecond)); err != nil {
		return err
	}
	for i := range t.Lists {
		if err := text(w, &t.Lists[i], t.Took.Seconds()); err != nil {
			return err
		}
	}
	return nil
}

func text(w io.Writer, l *flows.Top, seconds float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	by := l.By
	if l.PrefixLength > 0 {
		by = fmt.Sprintf("%s/%d", by, l.PrefixLength)
	}
	fmt.Fprintf(w, "\nby %s: %d packets, %d bytes in all\n", by, l.Packets, l.Bytes)
	fmt.Fprintln(t, "SHARE\tMBIT/S\tPACKETS\tBYTES\tAT MOST TOO MANY\t\t")
	for _, r := range l.Rows {
		fmt.Fprintf(t, "%.1f %%\t%.3f\t%d\t%d\t%d\t  %s\t\n", 100*part(r.Bytes, l.Bytes), rate(r.Bytes, seconds), r.Packets, r.Bytes, r.Error, about(&r))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if l.Unlisted > 0 {
		_, err := fmt.Fprintf(w, "What is not listed has at most %d bytes each.\n", l.Unlisted)
		return err
	}
	return nil
}

func part(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func rate(bytes uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(bytes) * 8 / 1e6 / seconds
}

// about is what a row is about.
func about(r *flows.Row) string {
	switch {
	case !r.Destination.IsValid():
		return prefix(r.Source)
	case !r.Source.IsValid():
		return prefix(r.Destination)
	}
	proto := describe.Value(headerspace.Proto, headerspace.V(uint64(r.Protocol)))
	if r.SourcePort == 0 && r.DestinationPort == 0 || proto == "icmp" {
		return fmt.Sprintf("%s %s > %s", proto, r.Source.Addr(), r.Destination.Addr())
	}
	return fmt.Sprintf("%s %s > %s", proto, netip.AddrPortFrom(r.Source.Addr(), r.SourcePort), netip.AddrPortFrom(r.Destination.Addr(), r.DestinationPort))
}

func prefix(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
