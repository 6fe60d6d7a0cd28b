package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
