package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// withProxy has a proxy of somebody else's before two servers inside. Hosts inside send datagrams past it.
const withProxy = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "proxies", "address": "172.31.0.1/29", "networkRef": {"name": "proxies"}}},
{"op": "replace", "path": "/spec/functions", "value": [
  {"name": "proxy", "blackbox": {"attachment": "Service", "inside": "proxies", "address": "172.31.0.2"}},
  {"name": "fw", "firewall": {"stateful": true, "default": "Drop", "rules": [
    {"name": "web", "from": "Outside", "destination": ["172.31.0.2"], "protocol": "tcp", "destinationPorts": [80], "action": "Accept"},
    {"name": "dns", "from": "Inside", "source": ["10.0.0.0/24"], "protocol": "udp", "destinationPorts": [53], "action": "Accept"}]}},
  {"name": "nat", "napt": {"masquerade": true, "portForwards": [{"outsidePorts": 80, "inside": "172.31.0.2"}]}}]},
{"op": "replace", "path": "/spec/path", "value": ["inside", "proxy", "fw", "nat", "outside"]}]`

// TestAPodThatIsAProxyIsAFunctionOfAChain has HAProxy before two servers, of which one goes and comes back, and then has HAProxy killed.
func TestAPodThatIsAProxyIsAFunctionOfAChain(t *testing.T) {
	const manifest = "test/e2e/testdata/proxy.yaml"
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.kubectl("apply", "-f", manifest)
	defer w.kubectl("delete", "-f", manifest, "--ignore-not-found", "--wait=false")
	w.kubectl("wait", "--for=condition=Ready", "pod/first", "pod/second", "pod/proxy", "--timeout=60s")
	w.change(withProxy)
	w.attached("proxies")
	w.waitReady(time.Minute)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.bothServe()
	if _, err := w.ask(1, 20_000_000); err != nil {
		t.Errorf("20 MB by the proxy: %v", err)
	}

	start := time.Now()
	w.kubectl("delete", "pod", "second", "--now")
	w.eventually("the other server has all connections", 30*time.Second, func() error {
		by, err := w.ask(10, 1)
		if err == nil && by["f"] != 10 {
			err = fmt.Errorf("connections by server are %v, wanted 10 of the first", by)
		}
		return err
	})
	t.Logf("one server has all connections %.1f s after the end of the other began", time.Since(start).Seconds())
	w.kubectl("apply", "-f", manifest)
	w.kubectl("wait", "--for=condition=Ready", "pod/second", "--timeout=60s")
	w.bothServe()

	load := w.send(15 * time.Second)
	start = time.Now()
	w.kill("proxy", "haproxy", "SIGKILL")
	w.eventually("the kubelet starts it again", time.Minute, func() error {
		const times = `{.status.containerStatuses[?(@.name=="haproxy")].restartCount}`
		if n := w.kubectl("get", "pod", "proxy", "-o", "jsonpath="+times); n != "1" {
			return fmt.Errorf("it was started again %s times", n)
		}
		return nil
	})
	w.bothServe()
	t.Logf("both servers serve again %.1f s after the proxy was killed", time.Since(start).Seconds())
	load.lossless("the proxy that they pass by is killed")

	w.kubectl("delete", "pod", "proxy", "--now")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionDown)
	w.kubectl("apply", "-f", manifest)
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.bothServe()
}

// served is a letter of a server, with how many connections it has had.
var served = regexp.MustCompile(`(\w):(\d+)`)

// ask has a host outside fetch bytes by the proxy, by connections one after the other. It tells how many went to which server.
func (w *world) ask(times, bytes int) (map[string]int, error) {
	out, err := w.try("exec", "server", "--", "/program", "fetch", "--from", "203.0.113.1:80", "--times", fmt.Sprint(times), "--bytes", fmt.Sprint(bytes), "--patience", "2s", "--within", "30s")
	if err != nil {
		return nil, err
	}
	by := map[string]int{}
	for _, said := range served.FindAllStringSubmatch(out, -1) {
		by[said[1]], _ = strconv.Atoi(said[2])
	}
	return by, nil
}

// bothServe waits until HAProxy has found both servers well, and gives them connections by turns.
func (w *world) bothServe() {
	w.Helper()
	w.eventually("both servers serve", 30*time.Second, func() error {
		by, err := w.ask(20, 1)
		if err == nil && (by["f"] != 10 || by["s"] != 10) {
			err = fmt.Errorf("connections by server are %v, wanted 10 each", by)
		}
		return err
	})
}
