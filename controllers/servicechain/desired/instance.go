// Package desired is what the objects of a chain should be by its spec, and how they are named.
package desired

import (
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Instance is what an instance of the chain should be of which so many cores work; 0: a new one.
// How many should work is decided elsewhere.
func Instance(c *v1alpha1.ServiceChain, p *v1alpha1.ChainProgram, bindings []v1alpha1.InterfaceBinding, functions []v1alpha1.InstanceFunction, working int) v1alpha1.ChainInstanceSpec {
	b := scaling.BoundsOf(&c.Spec.Scaling)
	if working == 0 {
		working = b.MinCores
	}
	spec := v1alpha1.ChainInstanceSpec{
		Chain: c.Name, Program: p.Name, Cores: int32(b.MaxCores),
		Shared:         c.Spec.Scaling.Shared(),
		TableMemoryMiB: p.Spec.TableMemoryMiB,
		FlowMemoryMiB:  p.Spec.FlowMemoryMiB,
		Interfaces:     bindings,
		Functions:      functions,
		Placement:      *c.Spec.Placement.DeepCopy(),
		Resources:      *c.Spec.Resources.DeepCopy(),
	}
	if spec.Resources.Memory.IsZero() {
		spec.Resources.Memory = p.Spec.EngineMemory(spec.Cores)
	}
	if !spec.Shared { // the instance has state of its own: all shards
		spec.Groups = Groups(Dealt(0, 1), min(working, b.MaxCores))
	}
	return spec
}

// Groups is the one group, with some shards and the first cores.
func Groups(shards []v1alpha1.ShardRange, cores int) []v1alpha1.InstanceGroup {
	return []v1alpha1.InstanceGroup{{Name: shard.GroupAll, Shards: shards, Cores: Cores(cores)}}
}

// Owned are groups with no more cores than the pod owns.
func Owned(groups []v1alpha1.InstanceGroup, cores int) []v1alpha1.InstanceGroup {
	for k := range groups {
		groups[k].Cores = groups[k].Cores[:min(len(groups[k].Cores), cores)]
	}
	return groups
}

// Dealt are the shards of instance k of n of a new chain.
func Dealt(k, n int) []v1alpha1.ShardRange {
	first, end := k*shard.Count/n, (k+1)*shard.Count/n
	return shard.Text[v1alpha1.ShardRange](shard.Run(first, end-first))
}

// Cores are so many cores, counted from 0.
func Cores(n int) []int32 {
	cores := make([]int32, n)
	for i := range cores {
		cores[i] = int32(i)
	}
	return cores
}
