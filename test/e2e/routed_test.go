package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// withHop puts a router of somebody else's between the firewall and the router of the sample, which needs a route back by it. The firewall lets port 8443 through, too.
const withHop = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-inside", "address": "172.31.0.1/30", "gateway": "172.31.0.2", "networkRef": {"name": "ips-inside"}}},
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "ips-outside", "address": "172.31.0.5/30", "gateway": "172.31.0.6", "networkRef": {"name": "ips-outside"}}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"attachment": "Routed", "inside": "ips-inside", "outside": "ips-outside"}}},
{"op": "add", "path": "` + rules + `/0", "value": {"name": "alt", "from": "Inside", "protocol": "tcp", "destinationPorts": [8443], "action": "Accept"}},
{"op": "add", "path": "/spec/functions/1/router/routes/-", "value": {"prefix": "10.0.0.0/24", "port": "inside", "via": "172.31.0.6"}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// attached waits for the pod that has a network besides those of the sample.
func (w *world) attached(network string) {
	w.Helper()
	w.eventually("the pod is replaced by one with the network "+network, time.Minute, func() error {
		if p := w.pod(); p == nil || p.DeletionTimestamp != nil || !strings.Contains(p.Annotations["k8s.v1.cni.cncf.io/networks"], network) {
			return fmt.Errorf("pod %s is not there yet", podName)
		}
		return nil
	})
}

// TestAPodThatForwardsByNftablesIsAFunctionOfAChain has the pod come after the chain, a rule of its drop what the chain lets through, and another pod take its place.
func TestAPodThatForwardsByNftablesIsAFunctionOfAChain(t *testing.T) {
	const manifest = "test/e2e/testdata/routed.yaml"
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.kubectl("apply", "-f", manifest, "-l", "app!=traffic")
	defer w.kubectl("delete", "-f", manifest, "--ignore-not-found", "--wait=false")
	w.change(withHop)
	w.attached("ips-outside")
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionDown)
	w.unreachable("a router that is not there yet")

	w.kubectl("apply", "-f", manifest)
	w.kubectl("wait", "--for=condition=Ready", "pod/ips", "--timeout=60s")
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	w.waitReady(time.Minute)
	w.passes("and a router of somebody else's")
	w.drops8443()
	w.kubectl("exec", "ips", "-c", "nft", "--", nft, "flush", "chain", "ip", "ips", "forward")
	if err := w.fetch(8443, 1); err != nil {
		t.Errorf("port 8443 after the rule of nftables is gone: %v", err)
	}

	load := w.send(30 * time.Second)
	start := time.Now()
	w.kubectl("delete", "pod", "ips", "--now") // it waits for the end: two pods at once would have one address
	w.answers(metav1.ConditionFalse, v1alpha1.ReasonFunctionDown)
	if f := w.chain().Status.Functions; len(f) != 1 || f[0].Name != "ips" || f[0].Ready {
		t.Errorf("functions are %+v, want one that is down", f)
	}
	w.kubectl("apply", "-f", manifest)
	w.kubectl("wait", "--for=condition=Ready", "pod/ips", "--timeout=60s")
	t.Logf("another router is ready %.1f s after the end of its predecessor began", time.Since(start).Seconds())
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	load.recovers("another router takes the place of the first one", 20*time.Second)
	w.passes("and another router")
	w.drops8443()
	load = w.send(15 * time.Second)
	w.eventually("the chain says how many packets the router gets and sends", 20*time.Second, func() error {
		if f := w.chain().Status.Functions; len(f) != 1 || !f[0].Ready || f[0].SentRate == 0 || f[0].ReturnedRate == 0 {
			return fmt.Errorf("functions are %+v, want one that has packets", f)
		}
		return nil
	})
	load.lossless("the router is there")
}

// unreachable wants nothing to pass, and the chain to count that for want of an answer to ARP.
func (w *world) unreachable(what string) {
	w.Helper()
	if r := w.send(5 * time.Second).end(); r.Received > 0 {
		w.Errorf("%d datagrams pass %s", r.Received, what)
	}
	start := time.Now()
	w.eventually("packets for "+what+" are counted", 30*time.Second, func() error {
		drops := w.instance().Status.Drops
		for _, d := range drops {
			if d.Packets > 0 && (d.Reason == "host-unreachable" || d.Reason == "neighbor-unresolved") {
				w.Logf("%d packets are counted as %s after %.1f s", d.Packets, d.Reason, time.Since(start).Seconds())
				return nil
			}
		}
		return fmt.Errorf("dropped are %v, wanted some as host-unreachable or neighbor-unresolved", drops)
	})
}

// drops8443 has the rule of nftables drop a connection, and count it.
func (w *world) drops8443() {
	w.Helper()
	before := w.droppedByNftables()
	if err := w.fetch(8443, 1); err == nil {
		w.Error("bytes come from port 8443, which a rule of nftables drops")
	}
	if w.droppedByNftables() == before {
		w.Error("the rule of nftables has seen no packet")
	}
}

// nft is the program in its image.
const nft = "/usr/sbin/nft"

// counted is the rule with its counter, as nft lists it.
var counted = regexp.MustCompile(`tcp dport 8443 counter packets (\d+)`)

// droppedByNftables is how many packets its rule has dropped.
func (w *world) droppedByNftables() int {
	w.Helper()
	said := counted.FindStringSubmatch(w.kubectl("exec", "ips", "-c", "nft", "--", nft, "list", "ruleset"))
	if said == nil {
		w.Fatal("nft does not list the rule")
	}
	n, err := strconv.Atoi(said[1])
	if err != nil {
		w.Fatal(err)
	}
	return n
}
