package e2e

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// storedTexts are what the store of the test has. Both lead everything to one next hop.
var storedTexts = map[string]string{"whole": "0.0.0.0/0\n", "halves": "0.0.0.0/1\n128.0.0.0/1\n"}

const storePod = `apiVersion: v1
kind: Pod
metadata: {name: store}
spec:
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  containers:
  - name: traffic
    image: sinter.test/traffic:1
    imagePullPolicy: Never
    args: [texts, --text, "whole=%s", --text, "halves=%s"]
`

// TestRoutesComeFromAStore has a store in the cluster, which operator and agent read.
func TestRoutesComeFromAStore(t *testing.T) {
	w := begin(t)
	w.edge()
	w.apply(fmt.Sprintf(storePod, strings.ReplaceAll(storedTexts["whole"], "\n", `\n`), strings.ReplaceAll(storedTexts["halves"], "\n", `\n`)))
	defer w.try("delete", "pod", "store", "--ignore-not-found") //nolint:errcheck // it may be gone
	w.kubectl("wait", "--for=condition=Ready", "pod/store", "--timeout=60s")
	url := "http://" + strings.TrimSpace(w.kubectl("get", "pod", "store", "-o", "jsonpath={.status.podIP}")) + "/"

	if _, err := w.try(patch(url, "whole")...); err == nil || !strings.Contains(err.Error(), "no stores may be read; name them by the chart's value stores.urls") {
		t.Errorf("a store that the administrator does not name: %v, want a refusal", err)
	}
	w.helm("upgrade", "sinter", "charts/sinter", "--reset-then-reuse-values", "--set", "stores.urls={"+url+"}", "--wait", "--timeout", "2m")
	defer w.helm("upgrade", "sinter", "charts/sinter", "--reset-then-reuse-values", "--set-json", "stores.urls=[]", "--wait", "--timeout", "2m")
	w.eventually("the new operator lets the store be read", 30*time.Second, func() error { // the old one still answers for a moment
		_, err := w.try(patch(url, "whole")...)
		return err
	})
	w.waitReady(time.Minute)
	if err := w.fetch(80, 1_000_000); err != nil {
		t.Errorf("1 MB by a route of the store: %v", err)
	}
	if got := w.instance().Status.Tables; len(got) != 1 || got[0].Routes != 3 {
		t.Errorf("the instance says that it has the tables %v, want one of a route and two that are connected", got)
	}

	before := w.chain().Status.Program
	load := w.send(15 * time.Second)
	w.kubectl(patch(url, "halves")...)
	w.waitReady(30 * time.Second)
	if now := w.chain().Status.Program; now == before {
		t.Errorf("program %s is still in force", now)
	}
	before = w.chain().Status.Program
	w.kubectl(patch(url, "nothing")...)
	w.eventually("the chain says that there is no such text", 20*time.Second, func() error {
		if err := w.condition(v1alpha1.ConditionSynthesized, metav1.ConditionFalse, v1alpha1.ReasonInvalid); err != nil {
			return err
		}
		if out := w.kubectl("describe", "servicechain", chainName); !strings.Contains(out, url+"nothing\": the store answers 404 Not Found") {
			return fmt.Errorf("kubectl describe does not say so:\n%s", out)
		}
		return nil
	})
	load.lossless("another text, and one that is not there")
	if now := w.chain().Status.Program; now != before {
		t.Errorf("program %s is in force, wanted %s", now, before)
	}
}

// patch has the chain's router take its routes from a text of a store.
func patch(url, name string) []string {
	return []string{"patch", "servicechain", chainName, "--type=json", "-p", fmt.Sprintf(`[
		{"op": "add", "path": "/spec/functions/1/router/routes", "value": []},
		{"op": "add", "path": "/spec/functions/1/router/routesFrom", "value": [
			{"port": "outside", "via": "203.0.113.254", "store": {"url": "%s", "sha256": "%x"}}]}]`, url+name, sha256.Sum256([]byte(storedTexts[name])))}
}
