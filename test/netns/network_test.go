package netns

import (
	"testing"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// lanAndWAN are a host inside, which has a default route by the chain, one outside, and the engine's namespace with a device for each: lan and wan.
func lanAndWAN(t *testing.T) (lan, wan, box *lab.Space) {
	t.Helper()
	lan, wan, box = lab.New(t, "lan"), lab.New(t, "wan"), lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: lan, Device: "eth0", Address: "10.1.0.2/16"}, lab.End{Space: box, Device: "lan"})
	lab.Cable(t, lab.End{Space: wan, Device: "eth0", Address: "198.51.100.2/24"}, lab.End{Space: box, Device: "wan"})
	lan.Run(t, "ip", "route", "add", "default", "via", "10.1.0.1")
	return lan, wan, box
}
