package check

import (
	"fmt"
	"io"
	"strings"
)

// Text writes the report for people: a line for each check, and below it what to do about what is wrong.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	group := ""
	for _, l := range r.Checks {
		if l.Group != group {
			if group != "" {
				b.WriteString("\n")
			}
			group = l.Group
			fmt.Fprintln(&b, group)
		}
		fmt.Fprintf(&b, "  %-7s  %s\n", l.Result, l.Message)
		if l.Remedy != "" {
			fmt.Fprintf(&b, "           to do: %s\n", l.Remedy)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict is the report in a line.
func (r *Report) verdict() string {
	var parts []string
	if r.Warnings > 0 {
		parts = append(parts, count(r.Warnings, "warning"))
	}
	if r.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown", r.Unknown))
	}
	switch {
	case r.Errors > 0:
		return strings.Join(append([]string{count(r.Errors, "error")}, parts...), ", ")
	case len(parts) == 0 && r.Installed:
		return "all is well"
	case r.Installed:
		return "no errors, " + strings.Join(parts, ", ")
	case len(parts) == 0:
		return "ready for Sinter to be installed"
	}
	return "ready for Sinter to be installed, " + strings.Join(parts, ", ")
}

// Err is the error that something is wrong; nil: nothing is.
func (r *Report) Err() error {
	if r.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%s found", count(r.Errors, "error"))
}
