package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Status writes what there is to know of a chain and its instances; an empty name means all chains.
func (c *Cluster) Status(ctx context.Context, w io.Writer, name string) error {
	chains, err := c.chains(ctx, name)
	if err != nil {
		return err
	}
	var opts []client.ListOption
	if name != "" {
		opts = append(opts, client.MatchingLabels{v1alpha1.LabelChain: name})
	}
	instances, err := c.instances(ctx, opts...)
	if err != nil {
		return err
	}
	for i := range chains {
		if i > 0 {
			fmt.Fprintln(w)
		}
		own := slices.DeleteFunc(slices.Clone(instances), func(n v1alpha1.ChainInstance) bool {
			return n.Namespace != chains[i].Namespace || n.Spec.Chain != chains[i].Name
		})
		if err := c.writeStatus(w, &chains[i], own); err != nil {
			return err
		}
	}
	if len(chains) == 0 {
		fmt.Fprintln(w, "no chains", where(c.Namespace))
	}
	return nil
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return "in namespace " + namespace
}

func (c *Cluster) chains(ctx context.Context, name string) ([]v1alpha1.ServiceChain, error) {
	if name != "" {
		chain, err := c.chain(ctx, name)
		if err != nil {
			return nil, err
		}
		return []v1alpha1.ServiceChain{*chain}, nil
	}
	var list v1alpha1.ServiceChainList
	if err := c.list(ctx, &list); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.ServiceChain) int { return byName(&a, &b) })
	return list.Items, nil
}

func (c *Cluster) writeStatus(w io.Writer, chain *v1alpha1.ServiceChain, instances []v1alpha1.ChainInstance) error {
	s := &chain.Status
	fmt.Fprintf(w, "%s/%s: program %s, %d classes, %d instances, %d cores, %d packets/s, %d drops/s\n",
		chain.Namespace, chain.Name, cmp.Or(s.Program, "none"), s.Classes, s.Instances, s.Cores, s.PacketRate, s.DropRate)
	if s.ObservedGeneration != chain.Generation {
		fmt.Fprintf(w, "  the operator has not looked at the newest spec yet (generation %d, seen %d)\n", chain.Generation, s.ObservedGeneration)
	}
	if r := s.Rollout; r != nil {
		fmt.Fprintf(w, "  rollout of %s: %d of %d instances run it; now %s\n", r.Program, r.Updated, len(instances), cmp.Or(r.Instance, "none"))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(s.Conditions) > 0 {
		fmt.Fprintln(t, "  CONDITION\tSTATUS\tFOR\tREASON\tMESSAGE")
	}
	for _, k := range s.Conditions {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", k.Type, k.Status, c.age(k.LastTransitionTime), k.Reason, oneLine(k.Message))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(instances) > 0 {
		fmt.Fprintln(t, "  INSTANCE\tREADY\tNODE\tCORES\tLOAD\tPACKETS/S\tDROPS/S\tSESSIONS\tREPORTED\tPROGRAM")
	}
	for i := range instances {
		n := &instances[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s\n", n.Name, ready(n.Status.Conditions), cmp.Or(n.Status.Node, "-"), n.Spec.Cores, load(&n.Status),
			n.Status.PacketRate, n.Status.DropRate, n.Status.Sessions, c.age(n.Status.LastReportTime), n.Spec.Program)
	}
	return t.Flush()
}

// ready says in a word whether an instance is, and if not why.
func ready(conditions []metav1.Condition) string {
	for _, k := range conditions {
		if k.Type != v1alpha1.ConditionReady {
			continue
		}
		if k.Status == metav1.ConditionTrue {
			return "True"
		}
		return fmt.Sprintf("%s (%s)", k.Status, k.Reason)
	}
	return "Unknown"
}

// load is that of the busiest core, and of each.
func load(s *v1alpha1.ChainInstanceStatus) string {
	var cores []string
	for _, k := range s.Cores {
		cores = append(cores, fmt.Sprintf("cpu%d %d%%", k.LCore, k.LoadPercent))
	}
	text := fmt.Sprintf("%d%%", s.LoadPercent)
	if len(cores) > 0 {
		text += " (" + strings.Join(cores, ", ") + ")"
	}
	return text
}

func (c *Cluster) age(t metav1.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(c.Now().Sub(t.Time))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Watch shows something at once and at every tick, until the context ends. A failure is
// shown in its place: the next tick may see the API server again.
func Watch(ctx context.Context, tick <-chan time.Time, make func(io.Writer) error, show func(text []byte) error) error {
	for {
		var b strings.Builder
		if err := make(&b); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		if err := show([]byte(b.String())); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}
