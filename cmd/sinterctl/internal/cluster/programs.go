package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// revisions are the programs of a chain that the operator knows as such.
type revisions []v1alpha1.ChainProgram

func (c *Cluster) revisions(ctx context.Context, chain *v1alpha1.ServiceChain) (revisions, error) {
	var list v1alpha1.ChainProgramList
	if err := c.list(ctx, &list, client.MatchingLabels{v1alpha1.LabelChain: chain.Name}); err != nil {
		return nil, err
	}
	programs := slices.DeleteFunc(list.Items, func(p v1alpha1.ChainProgram) bool {
		return !metav1.IsControlledBy(&p, chain) || !p.DeletionTimestamp.IsZero()
	})
	slices.SortFunc(programs, func(a, b v1alpha1.ChainProgram) int {
		return cmp.Or(cmp.Compare(a.Spec.Revision, b.Spec.Revision), strings.Compare(a.Name, b.Name))
	})
	return programs, nil
}

// find finds a revision by its number or its program's name.
func (r revisions) find(rev string) (*v1alpha1.ChainProgram, error) {
	var found *v1alpha1.ChainProgram
	var known []string
	for i := range r {
		p := &r[i]
		number := strconv.FormatInt(p.Spec.Revision, 10)
		known = append(known, number)
		switch {
		case p.Name == rev:
			return p, nil
		case number != rev:
		case found != nil:
			return nil, fmt.Errorf("revision %s is both %s and %s; give the program's name", rev, found.Name, p.Name)
		default:
			found = p
		}
	}
	switch {
	case found != nil:
		return found, nil
	case len(known) == 0:
		return nil, fmt.Errorf("revision %q: the chain has no programs yet", rev)
	}
	return nil, fmt.Errorf("revision %q: the chain has %s; give one of them, or a program's name", rev, strings.Join(known, ", "))
}

// Programs writes the revisions of a chain.
func (c *Cluster) Programs(ctx context.Context, w io.Writer, name string) error {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return err
	}
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: name})
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REVISION\tPROGRAM\tHASH\tAGE\tSIZE\tCLASSES\tSTATE")
	for i := range programs {
		p := &programs[i]
		fmt.Fprintf(t, "%d\t%s\t%.10s\t%s\t%s\t%d\t%s\n", p.Spec.Revision, p.Name, p.Spec.Hash, c.age(p.CreationTimestamp),
			size(len(p.Spec.Program)), p.Spec.Classes, state(chain, p, instances))
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

// state says what a program is to its chain: by what the instances report, not by what they are told.
func state(chain *v1alpha1.ServiceChain, p *v1alpha1.ChainProgram, instances []v1alpha1.ChainInstance) string {
	var words []string
	running := 0
	for i := range instances {
		if instances[i].Status.AppliedHash == p.Spec.Hash {
			running++
		}
	}
	if running > 0 {
		words = append(words, fmt.Sprintf("running on %d of %d instances", running, len(instances)))
	}
	if chain.Spec.RollbackTo == p.Name {
		words = append(words, "held by rollbackTo")
	}
	if why := refused(p); why != "" {
		words = append(words, "refused: "+why)
	}
	return cmp.Or(strings.Join(words, "; "), "-")
}

// refused is why the instances did not take a program; empty: they did, or were not asked.
func refused(p *v1alpha1.ChainProgram) string {
	k := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRefused)
	if k == nil || k.Status != metav1.ConditionTrue {
		return ""
	}
	return oneLine(cmp.Or(k.Message, k.Reason))
}
