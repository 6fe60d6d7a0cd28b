package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Program is one revision of a chain's program. Scripts read it, so names stay.
type Program struct {
	Revision     int64       `json:"revision"`
	Name         string      `json:"name"`
	Hash         string      `json:"hash"`
	CreationTime metav1.Time `json:"creationTime"`
	Bytes        int         `json:"bytes"` // packed
	Classes      int32       `json:"classes"`
	// RunningOn are the instances that report it, of so many that the chain has.
	RunningOn        []Runner `json:"runningOn"`
	Instances        int      `json:"instances"`
	HeldByRollbackTo bool     `json:"heldByRollbackTo"`
	Refused          string   `json:"refused,omitempty"` // why
}

// Runner is an instance that runs a program.
type Runner struct {
	Instance string `json:"instance"`
	Node     string `json:"node,omitempty"`
}

// Programs are the revisions of a chain, and which instances run them: by what these report, not by what they are told.
func (c *Cluster) Programs(ctx context.Context, name string) ([]Program, error) {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil, err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return nil, err
	}
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: name})
	if err != nil {
		return nil, err
	}
	out := make([]Program, len(programs))
	for i := range programs {
		p := &programs[i]
		out[i] = Program{
			Revision: p.Spec.Revision, Name: p.Name, Hash: p.Spec.Hash, CreationTime: p.CreationTimestamp,
			Bytes: len(p.Spec.Program), Classes: p.Spec.Classes, RunningOn: []Runner{}, Instances: len(instances),
			HeldByRollbackTo: chain.Spec.RollbackTo == p.Name, Refused: refused(p),
		}
		for j := range instances {
			if n := &instances[j]; n.Status.AppliedHash == p.Spec.Hash {
				out[i].RunningOn = append(out[i].RunningOn, Runner{Instance: n.Name, Node: n.Status.Node})
			}
		}
	}
	return out, nil
}

// Revisions are the numbers of a chain's revisions, each with its program and its state behind a tab; none if they cannot be read.
func (c *Cluster) Revisions(ctx context.Context, name string) (numbers []string) {
	programs, err := c.Programs(ctx, name)
	if err != nil {
		return nil
	}
	for i := range programs {
		p := &programs[i]
		numbers = append(numbers, fmt.Sprintf("%d\t%s", p.Revision, strings.TrimSuffix(p.Name+", "+p.state(), ", -")))
	}
	return numbers
}

// ProgramsText writes programs for people; wide: with the whole hash, and the instances that run them.
func (c *Cluster) ProgramsText(w io.Writer, programs []Program, wide bool) error {
	columns, digits := "REVISION\tPROGRAM\tHASH\tAGE\tSIZE\tCLASSES\tSTATE", 10
	if wide {
		columns, digits = columns+"\tRUNS ON", 64
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, columns)
	for i := range programs {
		p := &programs[i]
		fmt.Fprintf(t, "%d\t%s\t%.*s\t%s\t%s\t%d\t%s", p.Revision, p.Name, digits, p.Hash, c.age(p.CreationTime), size(p.Bytes), p.Classes, p.state())
		if wide {
			fmt.Fprintf(t, "\t%s", p.runners())
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// size of a packed program.
func size(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// state says what a program is to its chain.
func (p *Program) state() string {
	var words []string
	if len(p.RunningOn) > 0 {
		words = append(words, fmt.Sprintf("running on %d of %d instances", len(p.RunningOn), p.Instances))
	}
	if p.HeldByRollbackTo {
		words = append(words, "held by rollbackTo")
	}
	if p.Refused != "" {
		words = append(words, "refused: "+p.Refused)
	}
	return cmp.Or(strings.Join(words, "; "), "-")
}

// runners are the instances that run a program, with their nodes.
func (p *Program) runners() string {
	var words []string
	for _, r := range p.RunningOn {
		words = append(words, fmt.Sprintf("%s (%s)", r.Instance, cmp.Or(r.Node, "unknown node")))
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

// refused is why the instances did not take a program; empty: they did, or were not asked.
func refused(p *v1alpha1.ChainProgram) string {
	k := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRefused)
	if k == nil || k.Status != metav1.ConditionTrue {
		return ""
	}
	return oneLine(cmp.Or(k.Message, k.Reason))
}
