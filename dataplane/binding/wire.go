package binding

import (
	"fmt"
	"strconv"
	"strings"
)

// Wire is a veth pair between an engine and a function in a container of its pod.
type Wire struct {
	Engine   string // the device that the engine opens
	Function string // the device that the function opens
	MTU      int    // of both, in bytes
}

// ethernetMTU is what every device carries without being told.
const ethernetMTU = 1500

// longestName is how many bytes the name of a network device has at most (IFNAMSIZ, less its end).
const longestName = 15

// ParseWire reads a wire as a flag gives it: "wire1=ips-inside", or with its MTU, "wire1=ips-inside,mtu=9000".
func ParseWire(text string) (Wire, error) {
	w := Wire{MTU: ethernetMTU}
	pair, rest, more := strings.Cut(text, ",")
	var there bool
	if w.Engine, w.Function, there = strings.Cut(pair, "="); !there || !isDevice(w.Engine) || !isDevice(w.Function) {
		return w, fmt.Errorf("wire %q: want the engine's device and the function's, as in wire1=ips-inside, with up to %d characters each", text, longestName)
	}
	if !more {
		return w, nil
	}
	mtu, err := strconv.Atoi(strings.TrimPrefix(rest, "mtu="))
	if err != nil || !strings.HasPrefix(rest, "mtu=") || mtu < 68 || mtu > 65535 {
		return w, fmt.Errorf("wire %q: %q: want mtu=BYTES, from 68 to 65535", text, rest)
	}
	w.MTU = mtu
	return w, nil
}

func isDevice(text string) bool { return text != "" && len(text) <= longestName }

// String is what ParseWire reads.
func (w Wire) String() string {
	if w.MTU == ethernetMTU || w.MTU == 0 {
		return w.Engine + "=" + w.Function
	}
	return fmt.Sprintf("%s=%s,mtu=%d", w.Engine, w.Function, w.MTU)
}
