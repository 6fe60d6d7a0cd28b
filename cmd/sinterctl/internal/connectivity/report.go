package connectivity

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Kind is what must become of a row's packets.
type Kind string

// Kinds of rows.
const (
	// Passes are packets that get through or are answered.
	Passes Kind = "Passes"
	// Drops are packets that are dropped for the reason of the row's name.
	Drops Kind = "Drops"
)

// Row is the result of one test.
type Row struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// Report is the result of a run.
type Report struct {
	Chain  string `json:"chain"`
	Node   string `json:"node"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
	Tests  []Row  `json:"tests"`
}

func (r *Report) add(row Row) {
	if row.Passed {
		r.Passed++
	} else {
		r.Failed++
	}
	r.Tests = append(r.Tests, row)
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TEST\tRESULT\tDETAIL")
	for _, row := range r.Tests {
		result := "passed"
		if !row.Passed {
			result = "FAILED"
		}
		name := row.Name
		if row.Kind == Drops {
			name = "drop " + name
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, result, row.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d passed\n", r.Passed, len(r.Tests))
	return err
}

// Err is the error that a test failed; nil: none did.
func (r *Report) Err() error {
	if r.Failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d tests failed", r.Failed, len(r.Tests))
}
