package servicechain

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// assign says which groups each instance has from now on, by its name.
func assign(in scaling.Input, d scaling.Decision) map[string][]v1alpha1.InstanceGroup {
	groups := map[string][]v1alpha1.InstanceGroup{}
	for _, plan := range d.Plans {
		plan.Cores = max(plan.Cores, in.Bounds.MinCores)
		groups[plan.Pod] = plan.Groups()
	}
	return groups
}

// assignShards writes who has which shards, where the others are, and who is the front. Who gets some is told first: it asks for
// them, while the giver would take back what it gave if the other was not told yet. So is the front: better two answer than none.
func (r *Reconciler) assignShards(ctx context.Context, s *scope, m *sharing, groups map[string][]v1alpha1.InstanceGroup, handed []scaling.Handover) error {
	front, before, moved := s.front(), s.chain.Status.Front, false
	if before == front {
		before = "" // what was the front under this name is gone
	}
	var order []*v1alpha1.ChainInstance
	for k := range s.instances {
		order = append(order, &s.instances[k])
	}
	gets := func(i *v1alpha1.ChainInstance) int {
		if i.Name == front || slices.ContainsFunc(handed, func(h scaling.Handover) bool { return h.To == i.Name }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b *v1alpha1.ChainInstance) int { return cmp.Compare(gets(a), gets(b)) })
	first := true
	for _, i := range order {
		if !i.Spec.Shared {
			continue // its pod is to be another one first
		}
		had := i.WorkingCores()
		spec := *i.Spec.DeepCopy()
		spec.Groups = owned(groups[i.Name], int(spec.Cores))
		spec.Peers = s.peers(i, groups)
		spec.Front = i.Name == front
		if moved = moved || spec.Front != i.Spec.Front; i.Spec.Front && !spec.Front {
			before = i.Name
		}
		if equality.Semantic.DeepEqual(spec, i.Spec) {
			continue
		}
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return err
		}
		if first {
			m.handed, first = append(m.handed, handed...), false
		}
		if has := i.WorkingCores(); had > 0 && has > 0 && has != had {
			r.tell(s, i, take(&m.untold, i.Name), has > had)
		}
	}
	if moved {
		r.event(s, nil, normal, "FrontMoved", "Scale", "instance %s answers ARP for the chain's addresses from now on: %s", front, s.whyNotFront(before))
	}
	return nil
}

// owned are groups with no more cores than the pod owns.
func owned(groups []v1alpha1.InstanceGroup, cores int) []v1alpha1.InstanceGroup {
	for k := range groups {
		groups[k].Cores = groups[k].Cores[:min(len(groups[k].Cores), cores)]
	}
	return groups
}

// take gives the notes about a pod (empty: about the chain), and leaves the others.
func take(notes *[]scaling.Note, pod string) (taken []scaling.Note) {
	*notes = slices.DeleteFunc(*notes, func(n scaling.Note) bool {
		if n.Pod == pod {
			taken = append(taken, n)
		}
		return n.Pod == pod
	})
	return taken
}

// peers are an instance's peers: all others.
func (s *scope) peers(of *v1alpha1.ChainInstance, groups map[string][]v1alpha1.InstanceGroup) []v1alpha1.InstancePeer {
	var list []v1alpha1.InstancePeer
	for k := range s.instances {
		i := &s.instances[k]
		if i.Name == of.Name || !i.Spec.Shared {
			continue
		}
		p := v1alpha1.InstancePeer{Name: i.Name, Interfaces: i.Status.Interfaces}
		if pod := s.pods[i.Name]; alive(pod, i) && pod.Status.PodIP != "" {
			p.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(v1alpha1.PeersPort))
		}
		for _, g := range groups[i.Name] {
			p.Shards = append(p.Shards, g.Shards...)
		}
		list = append(list, p)
	}
	return list
}

// dealt are the shards of instance k of n of a new chain.
func dealt(k, n int) []v1alpha1.ShardRange {
	first, end := k*shard.Count/n, (k+1)*shard.Count/n
	return shard.Text[v1alpha1.ShardRange](shard.Run(first, end-first))
}

// shardsOf are the shards of groups.
func shardsOf(groups []v1alpha1.InstanceGroup) (shard.Set, error) {
	var all shard.Set
	for _, g := range groups {
		set, err := scaling.Shards(g.Name, g.Shards)
		if err != nil {
			return shard.Set{}, err
		}
		all = all.Or(set)
	}
	return all, nil
}
