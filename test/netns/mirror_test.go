package netns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

const (
	tapSample  = "../../config/samples/tap.yaml"
	tapped     = "10.0.0.2"
	tappedPeer = "203.0.113.254"
)

// tappedLine is config/samples/tap.yaml at work.
type tappedLine struct {
	left, right, analyzer *lab.Space
	engine                *lab.Engine
}

// startTapped gives the analyzer an address if it is said to be there; else nobody answers for it.
func startTapped(t *testing.T, bundle *manifest.Bundle, there bool) *tappedLine {
	t.Helper()
	l := &tappedLine{left: lab.New(t, "left"), right: lab.New(t, "right"), analyzer: lab.New(t, "analyzer")}
	box := lab.New(t, "engine")
	lab.Cable(t, lab.End{Space: l.left, Device: "eth0", Address: tapped + "/24"}, lab.End{Space: box, Device: "left"})
	lab.Cable(t, lab.End{Space: l.right, Device: "eth0", Address: tappedPeer + "/24"}, lab.End{Space: box, Device: "right"})
	address := "192.0.2.2/30"
	if !there {
		address = ""
	}
	lab.Cable(t, lab.End{Space: l.analyzer, Device: "eth0", Address: address}, lab.End{Space: box, Device: "tap"})
	l.left.Run(t, "ip", "route", "add", "default", "via", "10.0.0.1")
	l.right.Run(t, "ip", "route", "add", "default", "via", "203.0.113.1")
	for _, port := range []string{"22", "53", "80"} {
		serveEcho(t, l.right, tappedPeer+":"+port)
	}
	l.engine = lab.StartEngine(t, box, []string{"left=left", "right=right", "tap=tap"})
	l.engine.Load(t, lab.Compile(t, bundle))
	return l
}

// talk asks all servers.
func (l *tappedLine) talk(t *testing.T, size int) {
	t.Helper()
	for _, to := range []struct{ network, port string }{{"udp", "53"}, {"tcp", "22"}, {"tcp", "80"}, {"udp", "80"}} {
		c, err := dial(l.left, to.network, tapped+":0", tappedPeer+":"+to.port)
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(strings.Repeat(to.network+to.port, size/len(to.network+to.port)))
		if err := c.answered(text); err != nil {
			t.Errorf("%s to port %s: %v", to.network, to.port, err)
		}
		if to.network == "udp" {
			if err := pendingError(c); err != nil {
				t.Errorf("%s to port %s: %v", to.network, to.port, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sampled tells whether the sample sends copies of a packet.
func sampled(p packets.IPv4) bool {
	src, dst, _ := p.Ports()
	has := func(port uint16) bool { return src == port || dst == port }
	return p.Proto == packets.ProtoUDP && has(53) || p.Proto == packets.ProtoTCP && has(22)
}

// ipPackets are those among frames that are wanted, sorted.
func ipPackets(frames [][]byte, want func(packets.IPv4) bool) []string {
	var out []string
	for _, f := range frames {
		if v, ok := packets.Parse(f); ok && v.EtherType == packets.EtherIPv4 && want(v.IP) {
			out = append(out, fmt.Sprintf("%+v", v.IP))
		}
	}
	slices.Sort(out)
	return out
}

// TestCopiesOfWhatPassesGetToTheAnalyzer: byte by byte what both hosts get, in both directions, and
// nothing of other classes.
func TestCopiesOfWhatPassesGetToTheAnalyzer(t *testing.T) {
	l := startTapped(t, lab.Parse(t, tapSample), true)
	l.talk(t, 10) // so that all neighbours are known, and no copy waits for one
	taps := []*tap{startTap(t, l.left, "eth0"), startTap(t, l.right, "eth0"), startTap(t, l.analyzer, "eth0")}
	l.talk(t, 10)
	l.talk(t, 1400)
	var frames [3][][]byte
	for i, p := range taps {
		frames[i] = p.stop()
	}
	want := append(ipPackets(frames[0], sampled), ipPackets(frames[1], sampled)...)
	slices.Sort(want)
	got := ipPackets(frames[2], func(p packets.IPv4) bool { return p.Proto == packets.ProtoUDP || p.Proto == packets.ProtoTCP })
	if len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("the analyzer got %d packets, the hosts %d of the classes:\n%s\nwant\n%s", len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnAnalyzerThatCannotTakeCopiesHarmsNobody: copies that meet nobody, or are too large, are
// dropped, and no ICMP error tells the packet's sender of them.
func TestAnAnalyzerThatCannotTakeCopiesHarmsNobody(t *testing.T) {
	t.Parallel() // waits more than it works
	for name, test := range map[string]struct {
		there  bool
		mtu    int32
		reason string
	}{
		"nobody answers ARP":       {false, 1500, "host-unreachable"},
		"a small MTU":              {true, 576, "too-big-answered"},
		"an analyzer that listens": {true, 1500, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := lab.Parse(t, tapSample)
			bundle.Chains[0].Spec.Interfaces[2].MTU = test.mtu
			l := startTapped(t, bundle, test.there)
			errors := startTap(t, l.left, "eth0")
			for range 3 {
				l.talk(t, 1400)
				time.Sleep(300 * time.Millisecond) // an error about a neighbour comes after three requests
			}
			if test.reason != "" {
				lab.Until(t, 20*time.Second, func() error {
					if l.engine.Dropped(t, test.reason) == 0 {
						return fmt.Errorf("no copy was dropped as %s: %v", test.reason, l.engine.Counters(t).GetDrops())
					}
					return nil
				})
			}
			l.talk(t, 1400)
			if told := ipPackets(errors.stop(), func(p packets.IPv4) bool { return p.Proto == packets.ProtoICMP }); len(told) > 0 {
				t.Errorf("the sender was told:\n%s", strings.Join(told, "\n"))
			}
		})
	}
}
