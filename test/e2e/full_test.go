package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// TestAFunctionThatIsFullIsNotDown has a function share a ring of four frames with the engine, and wait for its part of the CPU most of the time.
func TestAFunctionThatIsFullIsNotDown(t *testing.T) {
	w := begin(t)
	defer w.remove() // the tests to come want the sample's own interfaces
	w.beside(strings.NewReplacer(`"Open"`, `"Closed"`, "socket-abstract=no", "socket-abstract=no,rsize=2").Replace(withMemory), "sinter.test/testpmd:1")
	load := w.send(30 * time.Second)
	w.eventually("the status says how many packets the function's wires do not take", 25*time.Second, func() error {
		f := w.chain().Status.Functions
		if len(f) != 1 || f[0].FullRate == 0 || f[0].SentRate == 0 || !f[0].Ready {
			return fmt.Errorf("functions are %+v, want one that is ready, and loses packets", f)
		}
		for _, d := range w.instance().Status.Drops {
			if d.Reason == "ips/full" && d.Kind == v1alpha1.DropLoss && d.Packets > 0 {
				return nil
			}
		}
		return fmt.Errorf("drops are %+v, want some as ips/full, of the kind Loss", w.instance().Status.Drops)
	})
	w.answers(metav1.ConditionTrue, v1alpha1.ReasonAnswering)
	load.end()
}
