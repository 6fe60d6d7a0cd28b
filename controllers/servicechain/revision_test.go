package servicechain_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// pass lets time go by.
func (w *world) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// inProgram counts the instances that are told to run a program.
func (w *world) inProgram(program string) (n int) {
	w.Helper()
	for _, name := range []string{"edge-0", "edge-1", "edge-2"} {
		if w.instance(name).Spec.Program == program {
			n++
		}
	}
	return n
}

func TestANewProgramComesToOneInstanceAfterTheOther(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances, quickRollout))
	w.run()
	first := w.chain("edge").Status.Program
	w.apply(edge(8443, threeInstances, quickRollout))
	w.settle()
	for n := 1; n <= 3; n++ {
		if got := 3 - w.inProgram(first); got != n {
			t.Fatalf("%d instances have left the old program, wanted %d", got, n)
		}
		w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonRollingOut, "")
		w.run() // they report
		if got := 3 - w.inProgram(first); got != n {
			t.Fatalf("instance %d is not watched: %d have left the old program", n, got)
		}
		w.pass(11 * time.Second)
		w.settle()
	}
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
	if s := w.chain("edge").Status; s.Program == first || s.Rollout != nil {
		t.Errorf("the rollout is over, and the status has program %s and rollout %+v", s.Program, s.Rollout)
	}
	w.told("RolloutStarted")
	w.told("InstanceUpdated: instance edge-2")
	w.told("RolloutCompleted")
}

func TestAProgramThatLosesPacketsIsTakenBack(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443, threeInstances, quickRollout))
	w.run()
	first := w.chain("edge").Status.Program
	w.apply(edge(8443, threeInstances, quickRollout))
	w.run()
	w.pass(5 * time.Second)
	w.report("edge-0", func(i *v1alpha1.ChainInstance) { i.Status.LossRate = 200_000 })
	w.settle()
	w.run()
	if n := w.inProgram(first); n != 3 {
		t.Errorf("%d instances are back at the old program, wanted all", n)
	}
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonRolledBack, "lost 20.0 % of its packets with the new program")
	w.says(v1alpha1.ConditionReady, no, v1alpha1.ReasonRolledBack, "")
	w.told("Warning ProgramRefused")
	w.pass(time.Hour)
	w.settle()
	if n := w.inProgram(first); n != 3 {
		t.Errorf("the bad program is tried again by itself")
	}
	w.apply(edge(443, threeInstances, quickRollout))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, "")
}

func TestAnOlderProgramIsPinnedByTheUser(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.run()
	first := w.chain("edge").Status.Program
	w.apply(edge(8443))
	w.run()
	w.pass(time.Minute)
	w.run()
	second := w.chain("edge").Status.Program
	if second == first {
		t.Fatalf("the second program is not in force")
	}
	w.apply(edge(8443, "  rollbackTo: "+first+"\n"))
	w.run()
	w.pass(time.Minute)
	w.run()
	w.says(v1alpha1.ConditionProgrammed, yes, v1alpha1.ReasonPinned, first)
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, first)
	w.apply(edge(8443, "  rollbackTo: edge-0123456789\n"))
	w.settle()
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonUnknownPin, second)
	w.apply(edge(8443))
	w.run()
	w.pass(time.Minute)
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, second)
}

func TestAPinnedProgramThatLosesPacketsIsTakenBack(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	settings := threeInstances + quickRollout
	rollOut := func(chain string) string {
		w.apply(chain)
		for range 4 {
			w.run()
			w.pass(11 * time.Second)
		}
		w.run()
		return w.chain("edge").Status.Program
	}
	first := rollOut(edge(443, settings))
	second := rollOut(edge(8443, settings))
	w.apply(edge(8443, settings, "  rollbackTo: "+first+"\n"))
	w.run()
	w.pass(5 * time.Second)
	w.report("edge-0", func(i *v1alpha1.ChainInstance) { i.Status.LossRate = 200_000 })
	w.settle()
	w.run()
	w.pass(time.Minute)
	w.run()
	if n := w.inProgram(second); first == second || n != 3 {
		t.Errorf("%d instances are back at the program before the pinned one, wanted all", n)
	}
	w.says(v1alpha1.ConditionProgrammed, no, v1alpha1.ReasonRolledBack, "spec.rollbackTo: program "+first+" was rolled back, "+second+" keeps running")
	w.apply(edge(8443, settings))
	w.run()
	w.says(v1alpha1.ConditionReady, yes, v1alpha1.ReasonForwarding, second)
}

func TestFiveOldProgramsAreKept(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	for port := 1; port <= 9; port++ {
		w.apply(edge(port))
		w.run()
		w.pass(time.Minute)
		w.run()
	}
	programs := w.programs()
	oldest := int64(9)
	for _, p := range programs {
		oldest = min(oldest, p.Spec.Revision)
	}
	if len(programs) != 6 || oldest != 4 {
		t.Errorf("%d programs are kept, the oldest of revision %d; wanted the one in force and the five before, from revision 4", len(programs), oldest)
	}
	w.told("ProgramDeleted")
}

func TestAProgramCannotBeChanged(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(edge(443))
	w.settle()
	p := w.programs()[0]
	p.Spec.Revision = 7
	if err := w.client.Update(t.Context(), &p); err == nil {
		t.Errorf("the program was changed")
	}
}

func TestTheLargestProgramCanBeKeptAndMarked(t *testing.T) {
	w := newWorld(t)
	packed := make([]byte, v1alpha1.MaxProgramBytes)
	if _, err := rand.Read(packed); err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.ChainProgram{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "large"}, Spec: v1alpha1.ChainProgramSpec{
		Chain: "edge", Revision: 1, Hash: strings.Repeat("0", 64), Schema: 1, Encoding: v1alpha1.EncodingGzip, Program: packed, Interfaces: []v1alpha1.Name{"a"},
	}}
	w.must(w.client.Create(t.Context(), p))
	refused := apply.Conditions([]metav1.Condition{{
		Type: v1alpha1.ConditionRefused, Status: yes, Reason: v1alpha1.ReasonLoadFailed, LastTransitionTime: metav1.Now(),
	}})
	o := configuration.ChainProgram(p.Name, p.Namespace).WithUID(p.UID).WithStatus(configuration.Status().WithConditions(refused...))
	w.must(apply.Status(t.Context(), w.client, "test", o))
	again := &v1alpha1.ChainProgram{}
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(p), again))
	if !bytes.Equal(again.Spec.Program, packed) {
		t.Errorf("the program has changed in the cluster")
	}
}
