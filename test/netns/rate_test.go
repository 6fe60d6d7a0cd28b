package netns

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/cpu"
	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// limited is a chain that limits what the host inside sends to a rate; what is red is dropped, or gets a DSCP.
const limited = `apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: limited}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24}
  - {name: outside, address: 198.51.100.1/24}
  functions:
  - name: lim
    rateLimiter:
      limits:
      - {name: up, from: Inside, %s}
  - name: rt
    router:
      routes:
      - {prefix: 10.0.0.0/24, port: inside}
      - {prefix: 198.51.100.0/24, port: outside}
  path: [inside, lim, rt, outside]
`

// limitedSite is a host that sends to a peer through a limit.
func limitedSite(t *testing.T, limit string) *site {
	t.Helper()
	s := newSite(t)
	s.engine = lab.StartEngine(t, s.box, officeBinds)
	cpu.FavourWorkers(t, s.engine.Process.PID())
	s.engine.Load(t, lab.Compile(t, lab.ParseText(t, fmt.Sprintf(limited, limit))))
	s.peer.Run(t, "ip", "route", "add", "default", "via", "198.51.100.1")
	return s
}

// measured is what iperf3 says of a test: payload that came in the intervals, and how long they were.
type measured struct {
	Intervals []struct {
		Sum struct {
			Bytes   float64
			Seconds float64
			Omitted bool
		}
	}
	End struct {
		Sum struct{ Packets, Lost_packets int } //nolint:revive // iperf3's name
	}
	Error string
}

// rate is the payload in bit/s by the receiver's clock, but for the first seconds, in which a bucket begins full.
func (m *measured) rate(skip float64) float64 {
	at, bytes, seconds := 0.0, 0.0, 0.0
	for _, i := range m.Intervals {
		if at += i.Sum.Seconds; at-i.Sum.Seconds >= skip && i.Sum.Seconds > 0.5 {
			bytes, seconds = bytes+i.Sum.Bytes, seconds+i.Sum.Seconds
		}
	}
	return bytes * 8 / max(seconds, 1e-9)
}

// iperf runs a test from host to peer, and gives what the receiver measured.
func (s *site) iperf(t *testing.T, seconds int, flags ...string) *measured {
	t.Helper()
	server := s.peer.Spawn(t, "iperf3", "--server", "--one-off", "--json", "--forceflush")
	lab.Until(t, lab.Patience, func() error {
		_, err := s.peer.Try("sh", "-c", "ss -Hltn 'sport = :5201' | grep -q LISTEN")
		return err
	})
	args := append([]string{"--client", officePeer, "--time", strconv.Itoa(seconds), "--get-server-output", "--json"}, flags...)
	text, err := s.host.Try("iperf3", args...)
	server.Kill()
	if err != nil {
		t.Fatalf("iperf3: %v\n%s", err, text)
	}
	var got struct {
		measured
		Server measured `json:"server_output_json"`
	}
	_, text, _ = strings.Cut(text, "{") // warnings come first
	if err := json.Unmarshal([]byte("{"+text), &got); err != nil || len(got.Server.Intervals) == 0 {
		t.Fatalf("iperf3 said (%v)\n%s", err, text)
	}
	return &got.Server
}

// streams are flags for so many connections: one alone waits for its retransmission timer (200 ms) again and again, while
// tokens are lost that it does not use.
func streams(n int) []string { return []string{"--parallel", strconv.Itoa(n)} }

// crowded tells whether twice as many threads as there are CPUs want to run: three are the test's own.
func crowded(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return load > 3+2*float64(len(cpu.Usable(t)))
}

// TestALimitGivesItsRate has iperf3 send more than a limit lets through: of IP packets, headers included, there come as many bits as the
// rate says. Time is the receiver's. A machine on which engine or iperf3 get too little of a CPU is no fault of the limit: bursts last half a
// second, so that a shorter stop loses no token; there are a few more tries, and if too little came by all of them, the test is skipped on a
// machine that has more to do than it can. Rates that leave the machine time are measured side by side. TCP sends less than the limit lets through
// while it recovers from drops, the longer the later its turn on a CPU comes: UDP tells whether the limit gives all, TCP whether it can use it.
func TestALimitGivesItsRate(t *testing.T) {
	lab.Require(t, "iperf3", "ss")
	const within, forUDP, forTCP, tries, payload = 0.02, 0.98, 0.8, 4, 1400
	for name, k := range map[string]struct {
		rate     float64
		limit    string
		flags    []string
		overhead float64 // of IP packets, by payload
		least    float64 // of the rate
		may      bool    // be beyond what a veth pair and a core can do
	}{
		"UDP at 1 Mbit/s":   {1e6, "rate: 1Mbit/s, burst: 60k", []string{"--udp", "--bitrate", "1500K", "--length", "1400"}, 1428. / payload, forUDP, false},
		"UDP at 10 Mbit/s":  {10e6, "rate: 10Mbit/s, burst: 600k", []string{"--udp", "--bitrate", "15M", "--length", "1400"}, 1428. / payload, forUDP, false},
		"UDP at 100 Mbit/s": {100e6, "rate: 100Mbit/s, burst: 6M", []string{"--udp", "--bitrate", "130M", "--length", "1400"}, 1428. / payload, forUDP, false},
		"UDP at 1 Gbit/s":   {1e9, "rate: 1Gbit/s", []string{"--udp", "--bitrate", "1200M", "--length", "1472"}, 1500. / 1472, forUDP, true},
		"TCP at 1 Mbit/s":   {1e6, "rate: 1Mbit/s, burst: 60k", streams(4), 1500. / 1448, forTCP, false},
		"TCP at 10 Mbit/s":  {10e6, "rate: 10Mbit/s, burst: 600k", streams(8), 1500. / 1448, forTCP, false},
		"TCP at 100 Mbit/s": {100e6, "rate: 100Mbit/s, burst: 6M", streams(16), 1500. / 1448, forTCP, false},
		"TCP at 1 Gbit/s":   {1e9, "rate: 1Gbit/s, burst: 10M", streams(16), 1500. / 1448, forTCP, true},
	} {
		t.Run(name, func(t *testing.T) {
			switch {
			case !k.may:
				t.Parallel()
			case testing.Short():
				t.Skip("-short: needs a CPU and more")
			}
			s := limitedSite(t, k.limit)
			for try := 1; ; try++ {
				got := s.iperf(t, 8, k.flags...).rate(2) * k.overhead
				meter := s.engine.Counters(t).GetTables()[0].GetMeter()
				t.Logf("%.4g Mbit/s of IP packets, %.4f of the rate; green %d, red %d packets", got/1e6, got/k.rate, meter.GetGreen().GetPackets(), meter.GetRed().GetPackets())
				switch {
				case k.rate*k.least <= got && got <= k.rate*(1+within):
					return
				case try < tries:
					t.Logf("try %d of %d, on a machine that others use, too", try, tries)
				case got > k.rate:
					t.Fatalf("%.4g Mbit/s came, want at most %.4g", got/1e6, k.rate/1e6*(1+within))
				case k.may:
					t.Skipf("%.4g Mbit/s came of %.4g: more than one core and a veth pair can do here", got/1e6, k.rate/1e6)
				case crowded(t):
					t.Skipf("%.4g Mbit/s came of %.4g: others use the machine's CPUs", got/1e6, k.rate/1e6)
				default:
					t.Fatalf("%.4g Mbit/s came, want %.4g at least", got/1e6, k.rate*k.least/1e6)
				}
			}
		})
	}
}

// TestWhatIsAboveALimitGetsItsDSCP sends packets of which three fit the burst, and looks at those that arrive.
func TestWhatIsAboveALimitGetsItsDSCP(t *testing.T) {
	lab.Require(t)
	s := limitedSite(t, "rate: 1pps, burst: 3, excessBurst: 2, yellow: {dscp: 10}, red: {dscp: 8}")
	w := wires{s.host.Wire(t, "eth0", lab.LargeSlot), s.peer.Wire(t, "eth0", lab.LargeSlot)}
	var frames [][]byte
	for i := range uint16(7) {
		p := packets.IPv4{Src: number(officeHost), Dst: number(officePeer), Proto: packets.ProtoUDP, TTL: 64, TOS: 46<<2 | 1}
		p.Payload = packets.UDP(p.Src, p.Dst, 5000+i, 9, []byte("above the limit?"))
		frames = append(frames, packets.Ethernet(s.box.MAC(t, "inside"), w.inside.MAC, nil, packets.EtherIPv4, p.Bytes(), nil))
	}
	began := time.Now()
	if err := w.inside.Send(frames...); err != nil {
		t.Fatal(err)
	}
	var got []byte
	w.outside.Wait(t, "seven packets", func(f []byte) bool {
		if v, ok := packets.Parse(f); ok && v.EtherType == packets.EtherIPv4 && v.IP.Proto == packets.ProtoUDP && binary.BigEndian.Uint16(v.IP.Payload[2:]) == 9 {
			if v.IP.TOS&3 != 1 {
				t.Errorf("ECN is %d, want 1 as it came", v.IP.TOS&3)
			}
			got = append(got, v.IP.TOS>>2)
		}
		return len(got) == len(frames)
	})
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Skipf("the packets took %v: tokens may have come meanwhile", took)
	}
	if want := []byte{46, 46, 46, 10, 10, 8, 8}; string(got) != string(want) {
		t.Errorf("packets came with DSCPs %v, want %v", got, want)
	}
}
