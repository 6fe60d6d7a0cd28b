package servicechain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

// scalers remember what instances wanted, for as long as the operator runs.
type scalers struct {
	mu     sync.Mutex
	chains map[types.NamespacedName]map[types.UID]*scaler
	shared map[types.NamespacedName]*sharing // chains whose instances share state
}

// scaler decides how many cores of an instance work. There is one per instance that has
// state of its own, which no other can take over.
type scaler struct {
	*scaling.Scaler
	cores  []v1alpha1.CoreStatus // as last reported
	untold []scaling.Note        // changes that are not written yet
}

// of are the scalers of a chain's instances; those of others are forgotten. A chain is
// reconciled by one worker at a time.
func (s *scalers) of(key types.NamespacedName, instances []v1alpha1.ChainInstance) map[types.UID]*scaler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chains == nil {
		s.chains = map[types.NamespacedName]map[types.UID]*scaler{}
	}
	known := map[types.UID]*scaler{}
	for i := range instances {
		uid := instances[i].UID
		if known[uid] = s.chains[key][uid]; known[uid] == nil {
			known[uid] = &scaler{Scaler: scaling.NewScaler(scaling.DefaultPolicy)}
		}
	}
	s.chains[key] = known
	return known
}

func (s *scalers) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chains, key)
	delete(s.shared, key)
}

// sharing decides about a chain whose instances share its state.
func (s *scalers) sharing(key types.NamespacedName) *sharing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		s.shared = map[types.NamespacedName]*sharing{}
	}
	if s.shared[key] == nil {
		s.shared[key] = newSharing()
	}
	return s.shared[key]
}

// scale has as many cores of each instance work as its load wants, and where instances share state, as many instances.
func (r *Reconciler) scale(ctx context.Context, s *scope) error {
	if s.chain.Spec.Scaling.Shared() {
		return r.share(ctx, s)
	}
	known := r.scalers.of(client.ObjectKeyFromObject(s.chain), s.instances)
	var findings []scaling.Note
	var errs []error
	for k := range s.instances {
		i := &s.instances[k]
		if i.UID == "" {
			continue // just made
		}
		found, err := r.scaleInstance(ctx, s, i, known[i.UID])
		findings, errs = append(findings, found...), append(errs, err)
	}
	v := scaled(&s.chain.Spec.Scaling, s.instances, findings)
	s.verdicts.scaled = &v
	return errors.Join(errs...)
}

func (r *Reconciler) scaleInstance(ctx context.Context, s *scope, i *v1alpha1.ChainInstance, m *scaler) ([]scaling.Note, error) {
	had := i.WorkingCores()
	in, err := m.see(s, i)
	if err != nil || had == 0 {
		return nil, err
	}
	d := m.Decide(in)
	if d.Again > 0 {
		s.soon(d.Again)
	}
	m.untold = append(m.untold, d.Changes...)
	if wanted := d.Plans[0].Cores; wanted != had {
		spec := *i.Spec.DeepCopy()
		for g := range spec.Groups {
			spec.Groups[g].Cores = first(wanted)
		}
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return d.Findings, err
		}
		r.tell(s, i, m.untold, wanted > had)
	}
	m.untold = nil
	return d.Findings, nil
}

// see is what is to be decided about an instance. Packets count once, when they are reported.
func (m *scaler) see(s *scope, i *v1alpha1.ChainInstance) (scaling.Input, error) {
	in := scaling.Input{Now: s.now, Bounds: boundsOf(s.chain, i)}
	report, err := scaling.ReportOf(i)
	if err != nil {
		return in, fmt.Errorf("ChainInstance %s: %w", i.Name, err)
	}
	report.Cores = scaling.CoresSince(m.cores, i.Status.Cores)
	m.cores = i.Status.Cores
	for _, l := range report.Shards {
		in.Shards = append(in.Shards, l.ID)
	}
	in.Pods = []scaling.Pod{{Name: i.Name, Node: i.Status.Node, Ready: s.isReady(i), Cores: i.WorkingCores(), Report: report}}
	return in, nil
}

// boundsOf are those of a chain for one of its instances, which may own fewer cores yet than
// the chain says now.
func boundsOf(c *v1alpha1.ServiceChain, i *v1alpha1.ChainInstance) scaling.Bounds {
	b := scaling.BoundsOf(&c.Spec.Scaling)
	b.MinPods, b.MaxPods, b.LoseNodes = 1, 1, 0
	b.MaxCores = min(b.MaxCores, int(i.Spec.Cores))
	b.MinCores = min(b.MinCores, b.MaxCores)
	return b
}

// tell says why other cores work now.
func (r *Reconciler) tell(s *scope, i *v1alpha1.ChainInstance, why []scaling.Note, more bool) {
	reason := "CoresRemoved"
	if more {
		reason = "CoresAdded"
	}
	for _, n := range why {
		kind := normal
		if n.Reason == scaling.PacketsLost {
			kind = warning
		}
		r.event(s, i, kind, reason, "Scale", "%s", n.Message)
	}
}

// first are so many cores, counted from 0.
func first(n int) []int32 {
	cores := make([]int32, n)
	for i := range cores {
		cores[i] = int32(i)
	}
	return cores
}

// scaled judges whether the instances have the cores that their load wants. Its words stay
// the same while the load is borne.
func scaled(spec *v1alpha1.Scaling, instances []v1alpha1.ChainInstance, findings []scaling.Note) verdict {
	var heavy, short, stuck, works []string
	reason := ""
	for _, n := range findings {
		short, reason = append(short, n.Message), string(n.Reason)
	}
	b := scaling.BoundsOf(spec)
	fixed := b.MinCores == b.MaxCores && b.MinPods == b.MaxPods
	for k := range instances {
		i := &instances[k]
		if i.Spec.Shared && len(i.Spec.Groups) == 0 {
			works = append(works, i.Name+" has no shards"+why(i))
			continue
		}
		c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionBalanced)
		if c == nil || c.Status == isUnknown {
			continue
		}
		switch text := i.Name + ": " + c.Message; {
		case c.Reason == v1alpha1.ReasonShardTooHeavy:
			heavy = append(heavy, text)
		case fixed || c.Reason == v1alpha1.ReasonBalancing || c.Reason == v1alpha1.ReasonOneCore:
			works = append(works, fmt.Sprintf("%s works with %d of %s", i.Name, i.WorkingCores(), count(int(i.Spec.Cores), "core")))
		default:
			stuck, reason = append(stuck, text), c.Reason
		}
	}
	status := isFalse
	switch {
	case len(heavy) > 0:
		reason, works = v1alpha1.ReasonShardTooHeavy, append(heavy, short...)
	case len(short) > 0:
		works = short
	case len(stuck) > 0:
		works = stuck
	case len(works) == 0:
		return verdict{isUnknown, v1alpha1.ReasonNotReported, "no instance has reported what its shards want"}
	case fixed:
		status, reason = isTrue, v1alpha1.ReasonFixed
	default:
		status, reason = isTrue, v1alpha1.ReasonWithinBounds
	}
	return verdict{status, reason, strings.Join(works, "; ")}
}

// why is what keeps an instance from being ready, as the end of a sentence.
func why(i *v1alpha1.ChainInstance) string {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status == isTrue {
		return ""
	}
	return " and is not ready: " + c.Message
}
