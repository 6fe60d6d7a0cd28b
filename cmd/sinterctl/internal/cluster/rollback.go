package cluster

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// fieldOwner is whose the fields are that are set here.
const fieldOwner = client.FieldOwner("sinterctl")

// Rollback has a chain run one of its earlier programs, whatever the rest of its spec says.
func (c *Cluster) Rollback(ctx context.Context, w io.Writer, name, rev string) error {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return err
	}
	programs, err := c.revisions(ctx, chain)
	if err != nil {
		return err
	}
	p, err := programs.find(rev)
	if err != nil {
		return fmt.Errorf("chain %s: %w", name, err)
	}
	if why := refused(p); why != "" {
		fmt.Fprintf(w, "warning: revision %d did not do well before: %s\n", p.Spec.Revision, why)
	}
	if chain.Spec.RollbackTo == p.Name {
		fmt.Fprintf(w, "chain %s/%s is held at revision %d, program %s, already; nothing was written\n", chain.Namespace, name, p.Spec.Revision, p.Name)
		return nil
	}
	if err := c.pin(ctx, chain, p.Name); err != nil {
		return err
	}
	fmt.Fprintf(w, "chain %s/%s goes to revision %d: spec.rollbackTo is now %s", chain.Namespace, name, p.Spec.Revision, p.Name)
	if now := chain.Status.Program; now != "" && now != p.Name {
		fmt.Fprintf(w, "; it ran %s", now)
	}
	fmt.Fprintln(w, "\nit is held there, and the rest of the spec waits, until the field is taken away (rollback --undo)")
	return nil
}

// Undo lets a chain run again what the rest of its spec says.
func (c *Cluster) Undo(ctx context.Context, w io.Writer, name string) error {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return err
	}
	held := chain.Spec.RollbackTo
	if held == "" {
		fmt.Fprintf(w, "chain %s/%s is not held at any program; nothing was written\n", chain.Namespace, name)
		return nil
	}
	if err := c.pin(ctx, chain, ""); err != nil {
		return err
	}
	fmt.Fprintf(w, "chain %s/%s runs what its spec says again: spec.rollbackTo, which was %s, is taken away\n", chain.Namespace, name, held)
	return nil
}

func (c *Cluster) pin(ctx context.Context, chain *v1alpha1.ServiceChain, program string) error {
	before := chain.DeepCopy()
	chain.Spec.RollbackTo = program
	if err := c.Client.Patch(ctx, chain, client.MergeFrom(before), fieldOwner); err != nil {
		return failed(fmt.Sprintf("patch ServiceChain %s/%s", chain.Namespace, chain.Name), err)
	}
	return nil
}
