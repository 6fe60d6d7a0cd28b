package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Another driver needs another pod.
func TestAChainChangesToAFXDPAndBack(t *testing.T) {
	w := begin(t)
	w.edge()
	for _, driver := range []string{"AFXDP", "AFPacket"} {
		before := w.pod().UID
		w.change(`[{"op": "add", "path": "/spec/interfaces/0/driver", "value": "` + driver + `"}, {"op": "add", "path": "/spec/interfaces/1/driver", "value": "` + driver + `"}]`)
		w.eventually("the pod is replaced", time.Minute, func() error {
			if p := w.pod(); p == nil || p.UID == before {
				return fmt.Errorf("pod %s is still there", podName)
			}
			return nil
		})
		w.waitReady(time.Minute)
		opened := w.kubectl("logs", podName, "-c", "engine")
		if want := "driver=" + map[string]string{"AFXDP": "net_af_xdp", "AFPacket": "net_af_packet"}[driver]; strings.Count(opened, want) != 2 {
			t.Errorf("the engine says\n%s\nwanted two ports with %s", opened, want)
		}
		w.send(5 * time.Second).lossless("datagrams by " + driver)
		if err := w.fetch(80, 5_000_000); err != nil {
			t.Errorf("5 MB by TCP and %s: %v", driver, err)
		}
	}
}
