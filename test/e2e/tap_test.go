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

// withTcpdump has tcpdump get a copy of what the firewall lets through. It counts datagrams, and has no file to write them to.
const withTcpdump = `[
{"op": "add", "path": "/spec/interfaces/-", "value": {"name": "probe", "wire": true}},
{"op": "add", "path": "/spec/functions/-", "value": {"name": "ips", "blackbox": {"attachment": "Tap", "inside": "probe",
  "image": "sinter.test/tcpdump:1", "args": ["-n", "-i", "probe", "-B", "16384", "-Z", "root", "-w", "/dev/null", "udp"], "capabilities": ["NET_RAW"],
  "resources": {"cpu": "200m", "memory": "64Mi"}}}},
{"op": "replace", "path": "/spec/path", "value": ["inside", "fw", "ips", "rt", "nat", "outside"]}]`

// captured is what tcpdump says when it ends.
var captured = regexp.MustCompile(`(?s)(\d+) packets captured.*\n(\d+) packets dropped by kernel`)

// TestTcpdumpGetsACopyOfEachPacket has the operator run it beside the engine. What becomes of it is nothing to the packets.
func TestTcpdumpGetsACopyOfEachPacket(t *testing.T) {
	w := begin(t)
	w.edge()
	defer w.remove() // the tests to come want the sample's own interfaces
	w.change(withTcpdump)
	w.withFunction("sinter.test/tcpdump:1")
	w.waitReady(time.Minute)
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	w.passes("and a copy of each to tcpdump")

	load := w.send(10 * time.Second)
	w.eventually("the status has the copies", 20*time.Second, func() error {
		f := w.chain().Status.Functions
		if len(f) != 1 || f[0].Name != "ips" || !f[0].Ready || f[0].SentRate < packetsPerSecond || f[0].ReturnedRate != 0 {
			return fmt.Errorf("the status has %+v, want some %d packets of both directions per second", f, 2*packetsPerSecond)
		}
		return nil
	})
	r := load.end()
	if r.Lost > 0 || r.Doubled > 0 {
		t.Errorf("beside tcpdump: %d of %d datagrams are lost, %d doubled: %+v", r.Lost, r.Sent, r.Doubled, r.Gaps)
	}
	sent := w.copies()
	if sent < 2*r.Sent {
		t.Errorf("tcpdump captured %d datagrams, want %d and their answers, beside those of before", sent, r.Sent)
	}
	w.startedAgain("ips")
	w.runs(metav1.ConditionTrue, v1alpha1.ReasonContainersRunning)
	w.passes("and a copy to the next tcpdump")
}

// copies ends tcpdump while packets pass, which lose nothing by it, and tells how many datagrams it captured. It has missed none.
func (w *world) copies() int {
	w.Helper()
	load := w.send(3 * time.Second)
	w.kill(podName, "ips", "SIGINT")
	load.lossless("tcpdump ends")
	log, err := w.try("logs", podName, "-c", "ips", "--previous")
	if err != nil {
		w.Fatal(err)
	}
	said := captured.FindStringSubmatch(log)
	if said == nil {
		w.Fatalf("tcpdump says nothing of what it captured:\n%s", log)
	}
	if said[2] != "0" {
		w.Errorf("tcpdump missed %s packets", said[2])
	}
	n, err := strconv.Atoi(said[1])
	if err != nil {
		w.Fatal(err)
	}
	return n
}
