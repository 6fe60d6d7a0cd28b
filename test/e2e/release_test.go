package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func (w *world) helm(args ...string) string {
	w.Helper()
	return w.must(run(w.Context(), "", "helm", append(args, "--namespace", system)...))
}

func TestHelmTestPasses(t *testing.T) {
	w := begin(t)
	if out := w.helm("test", "sinter", "--timeout", "2m"); !strings.Contains(out, "Phase:          Succeeded") {
		t.Errorf("helm test says:\n%s", out)
	}
}

// A release after this one is the same operator under another tag: what counts here is what an upgrade does to chains.
func TestUpgradeRollbackAndUninstallTakeNoPacketsAway(t *testing.T) {
	w := begin(t)
	w.edge()
	image := strings.TrimSpace(w.kubectl("get", "deployment", "sinter-operator", "--namespace", system, "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
	repository, _, _ := strings.Cut(image, ":")
	w.must(run(t.Context(), "", "hack/cluster/cluster.sh", "in", "ctr", "--namespace", "k8s.io", "image", "tag", "--force", image, repository+":next"))
	pod, program := w.pod().UID, w.chain().Status.Program
	load := w.send(90 * time.Second)
	defer func() { // whatever happens, the tests that follow have an operator
		w.must(run(t.Context(), "", "helm", "upgrade", "--install", "sinter", "charts/sinter", "--namespace", system, "--wait", "--timeout", "2m"))
	}()

	runs := func(tag string) {
		t.Helper()
		w.eventually("only the operator "+tag+" runs", time.Minute, func() error {
			got := w.kubectl("get", "pods", "--namespace", system, "-l", "app.kubernetes.io/component=operator", "-o", "jsonpath={.items[*].spec.containers[0].image}")
			if strings.TrimSpace(got) != repository+":"+tag {
				return fmt.Errorf("%s runs", got)
			}
			return nil
		})
		w.eventually("the operator answers", 30*time.Second, func() error {
			_, err := w.try("apply", "--dry-run=server", "-f", sample)
			return err
		})
	}
	w.helm("upgrade", "sinter", "charts/sinter", "--reset-then-reuse-values", "--set", "operator.image.tag=next", "--wait", "--timeout", "2m")
	runs("next")
	w.waitReady(30 * time.Second)
	w.helm("rollback", "sinter", "--wait", "--timeout", "2m")
	_, tag, _ := strings.Cut(image, ":")
	runs(tag)
	w.waitReady(30 * time.Second)

	out := w.helm("uninstall", "sinter", "--wait", "--timeout", "2m")
	if !strings.Contains(out, "kept due to the resource policy") || !strings.Contains(out, "servicechains.nfv.sinter.dev") {
		t.Errorf("uninstall does not say that it keeps the definitions:\n%s", out)
	}
	if now := w.chain().Status.Program; now != program {
		t.Errorf("program %s is in force, wanted %s", now, program)
	}
	if p := w.pod(); p == nil || p.UID != pod {
		t.Errorf("the chain's pod has not outlived the operator")
	}
	load.lossless("upgrade, rollback, uninstall")

	w.must(run(t.Context(), "", "helm", "install", "sinter", "charts/sinter", "--namespace", system, "--wait", "--timeout", "2m"))
	w.change(`[{"op": "add", "path": "` + rules + `/0", "value": {"name": "alt", "from": "Inside", "protocol": "tcp", "destinationPorts": [8443], "action": "Accept"}}]`)
	w.waitReady(time.Minute)
	w.eventually("the new operator brings changes", 10*time.Second, func() error {
		if now := w.chain().Status.Program; now == program {
			return fmt.Errorf("program %s is still in force", now)
		}
		return nil
	})
	if p := w.pod(); p == nil || p.UID != pod {
		t.Errorf("installing the operator again replaced the chain's pod")
	}
}
