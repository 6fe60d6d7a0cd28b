package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const rules = "/spec/functions/0/firewall/rules"

func TestARuleChangesUnderLoadWithoutLoss(t *testing.T) {
	w := begin(t)
	w.edge()
	if err := w.fetch(8443, 1); err == nil {
		t.Fatal("port 8443 is open although no rule says so")
	}
	before := w.chain().Status.Program

	load := w.send(15 * time.Second)
	w.change(`[{"op": "add", "path": "` + rules + `/0", "value": {"name": "alt", "from": "Inside", "protocol": "tcp", "destinationPorts": [8443], "action": "Accept"}}]`)
	w.waitReady(30 * time.Second)
	if err := w.fetch(8443, 1000); err != nil {
		t.Errorf("port 8443 stays shut although a rule opens it: %v", err)
	}
	w.change(`[{"op": "replace", "path": "` + rules + `/0/action", "value": "Drop"}]`)
	w.waitReady(30 * time.Second)
	if err := w.fetch(8443, 1); err == nil {
		t.Error("port 8443 stays open although the rule drops now")
	}
	load.lossless("two changes of another rule")
	if after := w.chain().Status.Program; after == before {
		t.Errorf("program %s is still in force", after)
	}
}

func TestAMistakeIsRefusedAndTheOldProgramRunsOn(t *testing.T) {
	w := begin(t)
	w.edge()
	before := w.chain()
	load := w.send(5 * time.Second)
	out, err := w.try("patch", "servicechain", chainName, "--type=json", "-p", `[{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "nat", "outside"]}]`)
	if err == nil {
		t.Fatalf("a chain with a function that no packet gets to is taken: %s", out)
	}
	if !strings.Contains(err.Error(), "admission webhook") || !strings.Contains(err.Error(), "no packet gets to this function") {
		t.Errorf("the refusal does not say what is wrong: %v", err)
	}
	load.lossless("a refused change")
	if after := w.chain(); after.Generation != before.Generation || after.Status.Program != before.Status.Program {
		t.Errorf("generation %d, program %s; before %d, %s", after.Generation, after.Status.Program, before.Generation, before.Status.Program)
	}
}

// The webhook lets references pass that are not there yet.
func TestAMissingFunctionIsToldInStatusAndTheOldProgramRunsOn(t *testing.T) {
	w := begin(t)
	w.edge()
	before := w.chain().Status.Program
	load := w.send(8 * time.Second)
	w.change(`[{"op": "replace", "path": "/spec/functions/0", "value": {"name": "fw", "functionRef": {"name": "nowhere"}}}]`)
	w.eventually("the chain says what is missing", 20*time.Second, func() error {
		return w.condition(v1alpha1.ConditionSynthesized, metav1.ConditionFalse, v1alpha1.ReasonInvalid)
	})
	for _, c := range w.chain().Status.Conditions {
		if c.Type == v1alpha1.ConditionSynthesized && (!strings.Contains(c.Message, "nowhere") || !strings.Contains(c.Message, before+" keeps running")) {
			t.Errorf("Synthesized says %q, neither that function nowhere is missing nor that %s keeps running", c.Message, before)
		}
	}
	load.lossless("a spec that does not compile")
	if now := w.chain().Status.Program; now != before {
		t.Errorf("program %s is in force, wanted %s", now, before)
	}
}

func TestAChangedConfigMapChangesTheProgram(t *testing.T) {
	w := begin(t)
	w.edge()
	rule := func(action string) {
		w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge-rules}\ndata:\n  rules.csv: |\n" +
			"    name,action,from,protocol,destinationPorts\n    alt," + action + ",Inside,tcp,8443\n")
	}
	rule("Accept")
	defer func() { w.edge(); w.kubectl("delete", "configmap", "edge-rules") }()
	w.change(`[{"op": "add", "path": "/spec/functions/0/firewall/rulesFrom", "value": {"format": "CSV", "configMapRef": {"name": "edge-rules", "key": "rules.csv"}}}]`)
	w.waitReady(30 * time.Second)
	if err := w.fetch(8443, 1); err != nil {
		t.Fatalf("the ConfigMap's rule is not in force: %v", err)
	}
	before := w.chain()

	load := w.send(8 * time.Second)
	rule("Drop")
	w.eventually("the program follows the ConfigMap", 20*time.Second, func() error {
		if now := w.chain(); now.Status.Program == before.Status.Program {
			return fmt.Errorf("program %s is still in force", now.Status.Program)
		}
		return nil
	})
	if err := w.fetch(8443, 1); err == nil {
		t.Error("the ConfigMap's rule drops now, and port 8443 is still open")
	}
	load.lossless("a changed ConfigMap")
	if now := w.chain(); now.Generation != before.Generation {
		t.Errorf("the chain's generation went from %d to %d, although only the ConfigMap changed", before.Generation, now.Generation)
	}
}
