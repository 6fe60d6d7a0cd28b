package live

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Lines bounds how many classes and how many drop reasons Text shows; the rest is summed up.
const Lines = 16

// Text writes the report as tables, each line at most width characters (0: no limit).
func Text(w io.Writer, r Report, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  program %.12s\n\n", r.Chain, r.Program)
	table(&b, "INTERFACE\tRX PACKETS\tPPS\tBIT/S\tTX PACKETS\tPPS\tBIT/S\tMISSED", len(r.Interfaces), func(i int) string {
		n := r.Interfaces[i]
		return fmt.Sprintf("%s\t%d\t%s\t%s\t%d\t%s\t%s\t%d", n.Name, n.Received.Packets, si(n.Received.PacketsPerSecond),
			si(n.Received.BitsPerSecond), n.Sent.Packets, si(n.Sent.PacketsPerSecond), si(n.Sent.BitsPerSecond), n.Missed)
	})
	table(&b, "CHECKED\tRETURNED\tLOST\tMEDIAN\tP99\tBLACKBOX", len(r.Wires), func(i int) string {
		c := r.Wires[i].Checked
		return fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s", c.Sent, c.Returned, c.Lost, seconds(c.Median), seconds(c.P99), r.Wires[i].text())
	})
	table(&b, "ARP ASKED\tANSWERED\tSTATE\tINTERFACE\tBLACKBOX", len(r.Hosts), func(i int) string {
		h := r.Hosts[i]
		return fmt.Sprintf("%d\t%d\t%s\t%s\t%s", h.Asked, h.Answered, upOrDown(h.Up), h.Interface, h.Address)
	})
	table(&b, "PACKETS\tPPS\tBIT/S\tCLASS", len(r.Classes), func(i int) string { return row(r.Classes[i].Rate, r.Classes[i].Name) })
	table(&b, "PACKETS\tPPS\tBIT/S\tCOUNTER", len(r.Counters), func(i int) string { return row(r.Counters[i].Rate, r.Counters[i].Name) })
	table(&b, "PACKETS\tPPS\tBIT/S\tKIND\tDROPPED AS", len(r.Drops), func(i int) string {
		return row(r.Drops[i].Rate, r.Drops[i].Kind+"\t"+r.Drops[i].Reason)
	})
	table(&b, "SESSIONS\tCREATED\tEXPIRED\tREFUSED\tEVICTED\tSTATE", len(r.Tables), func(i int) string {
		t := r.Tables[i]
		return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%s", t.Sessions, t.Created, t.Expired, t.Exhausted, t.Evicted, t.Name)
	})
	table(&b, "SESSIONS\tTCP PORTS\tUDP PORTS\tICMP IDS\tREFUSED\tSUBSCRIBER\tFUNCTION", len(r.Subscribers), func(i int) string {
		s, ports := r.Subscribers[i], "-\t-\t-"
		if s.Ports != nil {
			ports = fmt.Sprintf("%d\t%d\t%d", s.Ports.TCP, s.Ports.UDP, s.Ports.ICMP)
		}
		return fmt.Sprintf("%d\t%s\t%d\t%s\t%s", s.Sessions, ports, s.Refused, s.Name, s.Function)
	})
	var meters []Table
	for _, t := range r.Tables {
		if t.Colors != nil {
			meters = append(meters, t)
		}
	}
	table(&b, "GREEN\tBIT/S\tYELLOW\tBIT/S\tRED\tBIT/S\tMETER", len(meters), func(i int) string {
		c := meters[i].Colors
		return fmt.Sprintf("%d\t%s\t%d\t%s\t%d\t%s\t%s", c.Green.Packets, si(c.Green.BitsPerSecond), c.Yellow.Packets, si(c.Yellow.BitsPerSecond),
			c.Red.Packets, si(c.Red.BitsPerSecond), meters[i].Name)
	})
	var matched []string
	for _, t := range r.Tables {
		for _, k := range t.Rules {
			matched = append(matched, fmt.Sprintf("%d\t%s\t%s, %s", k.Packets, si(k.PacketsPerSecond), t.Name, k.Rule))
		}
	}
	table(&b, "MATCHED\tPPS\tRULE", len(matched), func(i int) string { return matched[i] })
	table(&b, "WORKER\tPACKETS\tCYCLES/PACKET\tLOAD", len(r.Workers), func(i int) string {
		n := r.Workers[i]
		return fmt.Sprintf("%d\t%d\t%.0f\t%.0f %%", n.Lcore, n.Packets, n.CyclesPerPacket, n.Load*100)
	})
	_, err := io.WriteString(w, clip(strings.TrimRight(b.String(), "\n")+"\n", width))
	return err
}

// Line writes the report as one line.
func Line(w io.Writer, now time.Time, r Report) error {
	var rx, tx Rate
	for _, n := range r.Interfaces {
		rx.PacketsPerSecond += n.Received.PacketsPerSecond
		rx.BitsPerSecond += n.Received.BitsPerSecond
		tx.PacketsPerSecond += n.Sent.PacketsPerSecond
		tx.BitsPerSecond += n.Sent.BitsPerSecond
	}
	parts := []string{
		fmt.Sprintf("%s rx %spps %sbit/s", now.Format(time.TimeOnly), si(rx.PacketsPerSecond), si(rx.BitsPerSecond)),
		fmt.Sprintf("tx %spps %sbit/s", si(tx.PacketsPerSecond), si(tx.BitsPerSecond)),
	}
	for _, t := range r.Tables {
		parts = append(parts, fmt.Sprintf("%s %d sessions", t.Name, t.Sessions))
	}
	for _, d := range r.Drops {
		if d.PacketsPerSecond > 0 {
			parts = append(parts, fmt.Sprintf("dropped %spps as %s", si(d.PacketsPerSecond), d.Reason))
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(parts, "; "))
	return err
}

func row(r Rate, name string) string {
	return fmt.Sprintf("%d\t%s\t%s\t%s", r.Packets, si(r.PacketsPerSecond), si(r.BitsPerSecond), name)
}

func table(b *strings.Builder, header string, n int, line func(int) string) {
	if n == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for i := range min(n, Lines) {
		fmt.Fprintln(w, line(i))
	}
	_ = w.Flush() // a strings.Builder takes all
	if n > Lines {
		fmt.Fprintf(b, "… and %d more\n", n-Lines)
	}
	b.WriteByte('\n')
}

// si writes a rate with three digits and a prefix.
func si(v float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if v < 999.5 || unit == "G" {
			if v == 0 || v >= 99.95 || unit == "" && v >= 10 {
				return fmt.Sprintf("%.0f %s", v, unit)
			}
			return fmt.Sprintf("%.1f %s", v, unit)
		}
		v /= 1000
	}
	return ""
}

func clip(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if utf8.RuneCountInString(l) > width {
			lines[i] = string([]rune(l)[:width-1]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}
