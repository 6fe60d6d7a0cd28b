package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// withSuricata puts the function of examples/suricata, with its wires, between the firewall and the router of the sample.
func withSuricata(t *testing.T) string {
	t.Helper()
	path := filepath.Join(repository, "examples/suricata/chain.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, found := manifest.Parse(path, text, os.ReadFile)
	if found.HasErrors() {
		t.Fatal(found)
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch := []operation{{"replace", "/spec/path", []string{"inside", "fw", "ips", "rt", "nat", "outside"}}}
	for _, n := range b.Chains[0].Spec.Interfaces {
		if n.Wire {
			patch = append(patch, operation{"add", "/spec/interfaces/-", n})
		}
	}
	for _, f := range b.Chains[0].Spec.Functions {
		if f.Blackbox != nil {
			f.Blackbox.Image = "sinter.test/suricata:7"           // of the same files, built by hack/cluster/suricata.sh
			f.Blackbox.Resources.CPU = resource.MustParse("300m") // the node has no more beside the engine's
			patch = append(patch, operation{"add", "/spec/functions/-", f})
		}
	}
	out, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestSuricataIsAFunctionOfAChain has Suricata drop what a rule of its names, of connections that otherwise arrive whole.
func TestSuricataIsAFunctionOfAChain(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.change(withSuricata(t))
	w.withFunction("sinter.test/suricata:7")
	w.waitReady(2 * time.Minute)
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.passes("and Suricata")

	fetch := func(bytes, times int) (string, error) {
		return w.try("exec", "client", "--", "/program", "fetch", "--from", server+":80", "--bytes", fmt.Sprint(bytes), "--times", fmt.Sprint(times), "--within", "5s")
	}
	if out, err := fetch(66666, 1); err == nil {
		t.Errorf("what the rule drops arrives: %s", out)
	}
	if log := w.kubectl("logs", podName, "-c", "ips"); !strings.Contains(log, "66666 bytes are asked for") || !strings.Contains(log, "[Drop]") {
		t.Errorf("Suricata says nothing of what it drops:\n%s", log)
	}
	start := time.Now()
	if _, err := fetch(6666, 10_000); err != nil {
		t.Errorf("10,000 connections that no rule names: %v", err)
	}
	t.Logf("10,000 connections took %s", time.Since(start).Round(time.Second))
	if err := w.condition(v1alpha1.ConditionFunctionsAsDeclared, metav1.ConditionTrue, v1alpha1.ReasonAsDeclared); err != nil {
		t.Error(err)
	}
	w.goesPast()
	if n := w.restarts("ips"); n != 0 {
		t.Errorf("Suricata was started again %d times", n)
	}
}

// throughput is in the report of a fetch.
var throughput = regexp.MustCompile(`: ([0-9.]+) Mbit/s`)

// goesPast has the bulk of a transfer go past Suricata, which drops what a rule names all the same.
func (w *world) goesPast() {
	w.Helper()
	fetch := func(bytes int) (mbits float64) {
		w.Helper()
		said := throughput.FindStringSubmatch(w.kubectl("exec", "client", "--", "/program", "fetch", "--from", server+":80", "--bytes", fmt.Sprint(bytes), "--within", "2m"))
		if said == nil {
			w.Fatal("the client does not say how fast bytes came")
		}
		mbits, _ = strconv.ParseFloat(said[1], 64)
		return mbits
	}
	through := fetch(100_000_000)
	was := w.pod().UID
	at := slices.IndexFunc(w.chain().Spec.Functions, func(f v1alpha1.Function) bool { return f.Blackbox != nil })
	w.change(fmt.Sprintf(`[{"op": "add", "path": "/spec/functions/%d/blackbox/bypass", "value": {"afterPackets": 20}}]`, at))
	w.eventually("the pod is replaced by one with memory for flows", 2*time.Minute, func() error {
		if p := w.pod(); p == nil || p.UID == was {
			return fmt.Errorf("pod %s is not there yet", podName)
		}
		return nil
	})
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	before := w.seenBySuricata()
	past := fetch(1_000_000_000)
	seen := w.seenBySuricata() - before
	w.Logf("1 GB past Suricata, which saw %d frames: %.0f Mbit/s, and through it %.0f", seen, past, through)
	if seen > 50_000 { // probes and what was on its way when enough had come back are some thousand; the transfer is 700,000
		w.Errorf("Suricata saw %d frames of 1 GB, want the first packets and probes", seen)
	}
	if out, err := w.try("exec", "client", "--", "/program", "fetch", "--from", server+":80", "--bytes", "66666", "--within", "5s"); err == nil {
		w.Errorf("what the rule drops arrives: %s", out)
	}
}

// seenBySuricata is how many frames its devices have received.
func (w *world) seenBySuricata() (frames int) {
	w.Helper()
	for _, wire := range []string{"ips-inside", "ips-outside"} {
		n, err := strconv.Atoi(strings.TrimSpace(w.kubectl("exec", podName, "-c", "ips", "--", "cat", "/sys/class/net/"+wire+"/statistics/rx_packets")))
		if err != nil {
			w.Fatal(err)
		}
		frames += n
	}
	return frames
}
