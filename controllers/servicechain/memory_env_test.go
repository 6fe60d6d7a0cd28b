package servicechain_test

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// translated is a chain whose NAPT may have so many sessions, and that says something of memory or nothing.
func translated(sessions int, resources string) string {
	return between(fmt.Sprintf("{name: nat, napt: {pool: [203.0.113.16/28], maxSessions: %d}}", sessions), "nat", quickRollout, "  resources: {"+resources+"}\n")
}

// An engine gets memory for all sessions that its chain allows. A pod is not replaced because a program needs less than the one before.
func TestAnEngineHasTheMemoryThatItsProgramNeeds(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	steps := []struct {
		name      string
		sessions  int
		resources string
		memory    string // of the engine
		state     string // at most, of the chain's status
	}{
		{"few sessions", 1000, "", "256Mi", "28Mi"},
		{"a million", 1_000_000, "", "512Mi", "353Mi"},
		{"few again", 1000, "", "512Mi", "28Mi"},
		{"memory that is given", 1000, "memory: 300M", "300M", "28Mi"},
		{"none any more", 1000, "", "300M", "28Mi"},
	}
	for _, s := range steps {
		w.apply(translated(s.sessions, s.resources))
		w.run()
		if p := w.pod("edge-0"); p.DeletionTimestamp != nil { // the kubelet's part
			w.must(w.client.Delete(w.Context(), p, client.GracePeriodSeconds(0)))
			w.run()
		}
		w.pass(11 * time.Second) // the program is watched for so long
		w.run()
		w.says(v1alpha1.ConditionSynthesized, yes, v1alpha1.ReasonCompiled, "")
		if got := w.instance("edge-0").Spec.Resources.Memory; got.String() != s.memory {
			t.Errorf("%s: the engine has %s, want %s", s.name, got.String(), s.memory)
		}
		if got := w.pod("edge-0").Spec.Containers[0].Resources.Limits.Memory(); got.String() != s.memory {
			t.Errorf("%s: the engine's container has %s, want %s", s.name, got, s.memory)
		}
		if got := w.chain("edge").Status.StateMemory; got.String() != s.state {
			t.Errorf("%s: state may take %s, want %s", s.name, got.String(), s.state)
		}
	}
	before := w.programs()
	w.apply(translated(1_000_000, "memory: 384Mi"))
	w.run()
	w.says(v1alpha1.ConditionSynthesized, no, v1alpha1.ReasonInvalid, `spec.resources.memory: "384Mi": an engine needs up to`)
	if got := len(w.programs()); got != len(before) {
		t.Errorf("there are %d programs, want %d", got, len(before))
	}
	if got := w.instance("edge-0").Spec.Resources.Memory; got.String() != "300M" {
		t.Errorf("after a refusal the engine has %s, want 300M", got.String())
	}
}

// Programs never change, so those of a release that computed no memory say nothing of it.
func TestAProgramOfAnEarlierReleaseHasTheMemoryThatItNeeds(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.apply(translated(1_000_000, "memory: 256Mi"))
	w.run()
	p := w.programs()[0]
	w.must(w.client.Delete(w.Context(), &p))
	p.ResourceVersion, p.UID = "", ""
	p.Spec.EngineMemoryMiB, p.Spec.CoreMemoryMiB, p.Spec.StateMemoryMiB = 0, 0, 0
	w.must(w.client.Create(w.Context(), &p))
	w.apply(translated(1_000_000, ""))
	w.settle()
	if got := w.instance("edge-0").Spec.Resources.Memory; got.String() != "512Mi" {
		t.Errorf("the engine has %s, want 512Mi", got.String())
	}
	if got := w.chain("edge").Status.StateMemory; got.String() != "353Mi" {
		t.Errorf("state may take %s, want 353Mi", got.String())
	}
	if got := w.programs(); len(got) != 1 || got[0].Spec.EngineMemoryMiB != 0 {
		t.Errorf("there are %d programs, of which the first needs %d MiB, want the one as it was", len(got), got[0].Spec.EngineMemoryMiB)
	}
}
