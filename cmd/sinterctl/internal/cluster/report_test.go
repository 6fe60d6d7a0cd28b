package cluster

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// showStatus writes as status does.
func (c *Cluster) showStatus(ctx context.Context, w io.Writer, name string, wide bool) error {
	chains, err := c.Status(ctx, name)
	if err != nil {
		return err
	}
	return c.StatusText(w, chains, wide)
}

// showPrograms writes as programs does.
func (c *Cluster) showPrograms(ctx context.Context, w io.Writer, name string, wide bool) error {
	programs, err := c.Programs(ctx, name)
	if err != nil {
		return err
	}
	return c.ProgramsText(w, programs, wide)
}

// showDiff writes as diff does.
func (c *Cluster) showDiff(ctx context.Context, w io.Writer, name, from, to string) error {
	d, err := c.Diff(ctx, name, from, to)
	if err != nil {
		return err
	}
	return d.Text(w)
}

func failure[T any](_ T, err error) error { return err }

// asJSON is a report as scripts read it.
func asJSON[T any](t *testing.T, report T, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(report); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWideAddsColumns(t *testing.T) {
	w := newWorld(t)
	w.instances[1].Status = v1alpha1.ChainInstanceStatus{}
	if err := w.Client.Update(t.Context(), w.instances[1]); err != nil {
		t.Fatal(err)
	}
	golden(t, "status-wide.txt", says(t, func(b *strings.Builder) error { return w.showStatus(t.Context(), b, "office", true) }))
	golden(t, "programs-wide.txt", says(t, func(b *strings.Builder) error { return w.showPrograms(t.Context(), b, "office", true) }))
}

// The JSON is an interface: a change of these files breaks the scripts of users.
func TestJSONHasAStableShape(t *testing.T) {
	w := newWorld(t)
	chains, err := w.Status(t.Context(), "office")
	golden(t, "status.json", asJSON(t, chains, err))
	programs, err := w.Programs(t.Context(), "office")
	golden(t, "programs.json", asJSON(t, programs, err))
	for file, revisions := range map[string][2]string{"diff-rules.json": {"2", "3"}, "diff-same.json": {"2", "2"}} {
		d, err := w.Diff(t.Context(), "office", revisions[0], revisions[1])
		golden(t, file, asJSON(t, d, err))
	}
}

func TestJSONHasEmptyListsInThePlaceOfNull(t *testing.T) {
	w := newWorld(t)
	w.chain.Status, w.instances[0].Status = v1alpha1.ServiceChainStatus{}, v1alpha1.ChainInstanceStatus{}
	for _, o := range []error{w.Client.Update(t.Context(), w.chain), w.Client.Update(t.Context(), w.instances[0]), w.Client.Delete(t.Context(), w.instances[1])} {
		if o != nil {
			t.Fatal(o)
		}
	}
	chains, err := w.Status(t.Context(), "office")
	golden(t, "status-new.json", asJSON(t, chains, err))
	w.Namespace = "empty"
	if chains, err = w.Status(t.Context(), ""); asJSON(t, chains, err) != "[]\n" {
		t.Errorf("without chains the status is %s", asJSON(t, chains, err))
	}
}

func TestStatusHasTheRolloutAndThePin(t *testing.T) {
	w := newWorld(t)
	w.chain.Spec.RollbackTo = w.programs[0].Name
	w.chain.Status.Rollout = &v1alpha1.RolloutStatus{Program: w.programs[0].Name, Updated: 1, Instance: "office-1", Since: ago(time.Minute)}
	if err := w.Client.Update(t.Context(), w.chain); err != nil {
		t.Fatal(err)
	}
	chains, err := w.Status(t.Context(), "office")
	if err != nil {
		t.Fatal(err)
	}
	r := chains[0].Rollout
	if r == nil || r.Program != w.programs[0].Name || r.Updated != 1 || r.Instance != "office-1" || !r.Since.Equal(&w.chain.Status.Rollout.Since) {
		t.Errorf("the rollout is %+v", r)
	}
	if chains[0].RollbackTo != w.programs[0].Name {
		t.Errorf("the chain is held at %q", chains[0].RollbackTo)
	}
	want := "  rollout of " + w.programs[0].Name + ": 1 of 2 instances run it; now office-1"
	text := says(t, func(b *strings.Builder) error { return w.showStatus(t.Context(), b, "office", false) })
	if !slices.Contains(strings.Split(text, "\n"), want) {
		t.Errorf("the status is %s, want the line %q", text, want)
	}
	programs, err := w.Programs(t.Context(), "office")
	if err != nil || !programs[0].HeldByRollbackTo || programs[2].HeldByRollbackTo {
		t.Errorf("held are %+v, %v", programs, err)
	}
}

func TestDiffSaysWhichProgramAloneHasAClass(t *testing.T) {
	p, err := delivery.Unpack(revision(t, 1, 1500, "25"))
	if err != nil {
		t.Fatal(err)
	}
	for want, found := range map[string][]Section{
		"from": sections(p.Program, &programpb.Program{}),
		"to":   sections(&programpb.Program{}, p.Program),
	} {
		classes := 0
		for _, s := range found {
			if s.Class != "" {
				classes++
			}
			if (s.Class != "") != (s.OnlyIn == want) {
				t.Errorf("%s: class %q of %s is only in %q", want, s.Class, s.Part, s.OnlyIn)
			}
		}
		if classes == 0 {
			t.Errorf("%s: no class differs", want)
		}
	}
}
