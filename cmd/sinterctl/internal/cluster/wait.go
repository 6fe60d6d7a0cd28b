package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// pending is a chain that is not ready, and what it waits for.
type pending struct{ chain, what string }

// Wait looks at once and at every tick, until a chain is Ready for its newest spec; an empty name means
// all chains, of which there must be one at least. It says what it waits for whenever that changes. If
// the context ends before, the error names the chains that are not ready.
func (c *Cluster) Wait(ctx context.Context, tick <-chan time.Time, name string, say func(line string)) error {
	var waiting []pending
	said := map[string]string{}
	for seen := false; ; {
		now, err := c.pending(ctx, name)
		var unknown unknownChain
		switch {
		case err == nil && len(now) == 0:
			return nil
		case err == nil:
			waiting, seen = now, true
		case !seen && !ended(ctx), errors.As(err, &unknown):
			return err
		case !ended(ctx): // the next tick may see the API server again
			now = []pending{{"the API server", err.Error()}}
		}
		for _, p := range now {
			if said[p.chain] != p.what {
				said[p.chain] = p.what
				say(fmt.Sprintf("waiting for %s: %s", p.chain, p.what))
			}
		}
		select {
		case <-ctx.Done():
			return gaveUp(ctx, waiting)
		case <-tick:
		}
	}
}

// ended tells whether a context is over, by the clock, too: a request may fail by the deadline before ctx.Err tells of it.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Now().After(deadline)
}

// pending are the chains of a name, or all, that are not ready.
func (c *Cluster) pending(ctx context.Context, name string) (out []pending, err error) {
	chains, err := c.chains(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(chains) == 0 {
		return nil, unknownChain{errors.New("there are no chains " + where(c.Namespace))}
	}
	for i := range chains {
		if what := Awaited(&chains[i]); what != "" {
			out = append(out, pending{fmt.Sprintf("chain %s/%s", chains[i].Namespace, chains[i].Name), what})
		}
	}
	return out, nil
}

// Awaited is why a chain is not Ready for its newest spec; empty: it is.
func Awaited(chain *v1alpha1.ServiceChain) string {
	k := meta.FindStatusCondition(chain.Status.Conditions, v1alpha1.ConditionReady)
	switch observed := chain.Status.ObservedGeneration; {
	case observed != chain.Generation:
		return unseen(chain.Generation, observed)
	case k == nil:
		return "it has no condition Ready yet"
	case k.ObservedGeneration != 0 && k.ObservedGeneration != chain.Generation:
		return unseen(chain.Generation, k.ObservedGeneration)
	case k.Status != metav1.ConditionTrue:
		return fmt.Sprintf("Ready is %s: %s: %s", k.Status, k.Reason, oneLine(k.Message))
	}
	return ""
}

// gaveUp is the error of a wait that ended too early, a line for each chain.
func gaveUp(ctx context.Context, waiting []pending) error {
	why := "timed out"
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "interrupted"
	}
	if len(waiting) == 0 {
		return errors.New(why + " before the API server replied")
	}
	var errs []error
	for _, p := range waiting {
		errs = append(errs, fmt.Errorf("%s: %s is not ready: %s", why, p.chain, p.what))
	}
	return errors.Join(errs...)
}
