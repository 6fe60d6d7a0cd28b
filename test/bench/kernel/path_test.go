package kernel

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/bench/acl"
	"github.com/sinter-nfv/sinter/test/packets"
)

// TestMain serves, too: Open starts this very program again.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func open(t *testing.T, c Config) *Path {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: a network namespace and a TAP device are made")
	}
	c.InsideMAC, c.Inside, c.Outside = "02:5e:00:00:00:00", "10.0.0.1/8", "203.0.113.2/24"
	c.Neighbors = []Neighbor{{"203.0.113.1", "02:00:00:00:00:aa"}}
	c.Routes = append(c.Routes, Route{netip.MustParsePrefix("0.0.0.0/0"), "203.0.113.1"})
	p, err := Open(t.Context(), c, (*exec.Cmd).Start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// capture is a file with UDP packets, from 10.0.0.x to 192.0.2.x.
func capture(t *testing.T, n int) string {
	data := binary.NativeEndian.AppendUint32(nil, 0xa1b2c3d4)
	data = append(data, make([]byte, 20)...)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		src, dst := 0x0a000100|uint32(i), uint32(0xc0000200)|r.Uint32N(256)
		p := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, 1000, 53, nil)}
		f := packets.Ethernet(packets.MAC{0x02, 0x5e}, packets.MAC{0x02, 0, 0, 0, 0, 0xaa}, nil, packets.EtherIPv4, p.Bytes(), make([]byte, 18))
		data = append(data, make([]byte, 8)...)
		data = binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(data, uint32(len(f))), uint32(len(f)))
		data = append(data, f...)
	}
	path := filepath.Join(t.TempDir(), "frames.pcap")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func replayed(t *testing.T, p *Path, path string) *Report {
	t.Helper()
	r, err := p.Replay(Request{Capture: path, Warmup: 640, Measured: 6400, Limit: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if r.Packets != 6400 || r.Median <= 0 || r.Mean <= 0 {
		t.Errorf("%+v: want 6400 packets, and their time", r)
	}
	return r
}

func TestTheKernelForwardsWhatItsRulesAccept(t *testing.T) {
	const text = "@0.0.0.0/0\t192.0.2.0/25\t0 : 65535\t53 : 53\t0x11/0xFF\t0x0/0x0\n@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x00/0x00\t0x0/0x0\n"
	rules, err := acl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	path := capture(t, 200) // 6400 is 32 rounds
	var forwarded []uint64
	for _, config := range []Config{{}, {Rules: Plain(rules)}, {Rules: Mapped(rules)}, {Rules: Refuse()}} {
		forwarded = append(forwarded, replayed(t, open(t, config), path).Forwarded)
	}
	if forwarded[0] != 6400 || forwarded[1] == 0 || forwarded[1] >= 6400 || forwarded[1] != forwarded[2] || forwarded[3] != 0 {
		t.Errorf("forwarded %d: want all without rules, the same part with both forms of the rules, and none that are refused", forwarded)
	}
}

func TestTheKernelTracksEachFlowThatItTranslates(t *testing.T) {
	r := replayed(t, open(t, Config{Rules: NAPT(netip.MustParsePrefix("198.18.0.0/28")), Sessions: 200}), capture(t, 200))
	if r.Connections != 200 || r.Forwarded != 6400 {
		t.Errorf("%d connections and %d packets forwarded, want 200 and 6400", r.Connections, r.Forwarded)
	}
}

func TestWhatTheKernelRefusesIsTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: a network namespace and a TAP device are made")
	}
	_, err := Open(t.Context(), Config{InsideMAC: "02:5e:00:00:00:00", Inside: "10.0.0.1/8", Outside: "203.0.113.2/24", Rules: "table ip x { nonsense }"}, (*exec.Cmd).Start)
	if err == nil || !strings.Contains(err.Error(), "nft") {
		t.Errorf("%v: want an error of nft", err)
	}
}
