// Package fleettest makes instances and pods as tests of the operator want them.
package fleettest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// At is a time so many seconds after noon.
func At(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// Running is an instance that runs a program, and is ready.
func Running(name, program string, change ...func(*v1alpha1.ChainInstance)) v1alpha1.ChainInstance {
	i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.ChainInstanceSpec{Program: program}}
	i.Status.Program, i.Status.AppliedHash = program, program+"-hash"
	i.Status.PacketRate = 1000
	i.Status.LastReportTime = metav1.NewTime(At(1000))
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionPlaced, v1alpha1.ConditionProgrammed} {
		i.Status.Conditions = append(i.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 1})
	}
	for _, c := range change {
		c(&i)
	}
	return i
}

// Told to run another program, of which it has not reported yet.
func Told(program string) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		i.Spec.Program = program
		i.Generation++
	}
}

// Says has a condition be this.
func Says(kind string, status metav1.ConditionStatus, reason string) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		for k := range i.Status.Conditions {
			if c := &i.Status.Conditions[k]; c.Type == kind {
				c.Status, c.Reason, c.ObservedGeneration = status, reason, i.Generation
			}
		}
	}
}

// Since tells when a condition was last another.
func Since(kind string, seconds int) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) {
		meta.FindStatusCondition(i.Status.Conditions, kind).LastTransitionTime = metav1.NewTime(At(seconds))
	}
}

// Loses has so many packets be lost in a second.
func Loses(packets int64) func(*v1alpha1.ChainInstance) {
	return func(i *v1alpha1.ChainInstance) { i.Status.LossRate = packets }
}

// Sharer is an instance that shares the chain's state and has some shards.
func Sharer(name string, runs ...v1alpha1.ShardRange) v1alpha1.ChainInstance {
	return Running(name, "p", func(i *v1alpha1.ChainInstance) {
		i.UID, i.Spec.Shared, i.Spec.Cores = types.UID(name), true, 1
		i.CreationTimestamp = metav1.NewTime(At(0))
		if len(runs) > 0 {
			i.Spec.Groups = desired.Groups(runs, 1)
		}
		i.Status.Shards = runs
	})
}

// PodOf is the running pod of an instance.
func PodOf(i *v1alpha1.ChainInstance, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: i.Name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(i, v1alpha1.GroupVersion.WithKind("ChainInstance"))}}}
	p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "10.244.0.7"
	for _, c := range change {
		c(p)
	}
	return p
}
