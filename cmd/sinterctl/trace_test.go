package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/enginetest"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/runner"
)

const (
	host   = 0x0a000002 // 10.0.0.2
	remote = 0xcb007105 // 203.0.113.5
)

// traced is an engine that sees packets to port 53 and, of every five, one to port 9.
func traced(t *testing.T) (socket string) {
	t.Helper()
	chain, err := compile.Files(compile.Input{Paths: []string{"testdata/trace.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	frames := [][]byte{enginetest.UDP(host, remote, 4000, 9)}
	for port := range uint16(4) {
		frames = append(frames, enginetest.UDP(host, remote, 5000+port, 53))
	}
	socket = enginetest.Run(t, "../../dataplane/engine/build", chain.Result.Program, chain.Hash, frames...)
	if err := os.WriteFile(runner.ProgramFile(socket), chain.Encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return socket
}

// captured is a frame of a capture.
type captured struct {
	intf     string
	id       uint64
	comments string
	gopacket.Packet
}

func read(t *testing.T, file []byte) []captured {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	var out []captured
	for {
		data, ci, opts, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		intf, err := r.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, captured{
			intf.Name, *opts.PacketID, strings.Join(opts.Comments, "\n"),
			gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default),
		})
	}
}

func (c *captured) source(t *testing.T) string {
	t.Helper()
	ip, ok := c.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	if !ok {
		t.Fatalf("no IPv4 packet: %s", c.Packet)
	}
	return ip.SrcIP.String()
}

func TestTracedPacketsOfAClassAreInTheFileAsTheyCameAndAsTheyLeft(t *testing.T) {
	socket := traced(t)
	name := filepath.Join(t.TempDir(), "class.pcapng")
	_, said, err := sinterctl(t, "trace", "--socket", socket, "--class", "from inside:4", "-c", "20", "--for", "5m", "-f", name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said, "traced 20 packets: it has as many packets as were asked for") || !strings.HasSuffix(said, "wrote "+name+"\n") {
		t.Errorf("it said %s", said)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	frames := read(t, file)
	if len(frames) != 40 {
		t.Fatalf("%d frames, want 40", len(frames))
	}
	for i := 0; i < len(frames); i += 2 {
		in, out := frames[i], frames[i+1]
		if in.intf != "inside in" || out.intf != "outside out" || in.id != out.id {
			t.Fatalf("frames %d: %s (%d), %s (%d): want a packet by inside and the same by outside", i, in.intf, in.id, out.intf, out.id)
		}
		if in.source(t) != "10.0.0.2" || out.source(t) != "198.51.100.16" {
			t.Errorf("it came from %s and left from %s", in.source(t), out.source(t))
		}
		if want := "segment from inside, class 4: ttl -1, translate nat/napt, → outside"; !strings.Contains(in.comments, want) {
			t.Errorf("its comments are %q, want %q", in.comments, want)
		}
	}
}

func TestTracedDropsGoToAPipeWithTheirReason(t *testing.T) {
	socket := traced(t)
	out, said, err := sinterctl(t, "trace", "--socket", socket, "--drop", "fw/drop", "--one-in", "3", "-c", "7", "--for", "5m", "-f", "-")
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	frames := read(t, []byte(out))
	if len(frames) != 7 {
		t.Fatalf("%d frames, want 7", len(frames))
	}
	for _, f := range frames {
		if f.intf != "inside in" || !strings.HasSuffix(f.comments, "dropped: fw/drop") {
			t.Errorf("%s: %q", f.intf, f.comments)
		}
		if udp, ok := f.Layer(layers.LayerTypeUDP).(*layers.UDP); !ok || udp.DstPort != 9 {
			t.Errorf("it is %s", f.Packet)
		}
	}
}

func TestAReaderOfAPipeThatHasEnoughStopsTheTrace(t *testing.T) {
	socket := traced(t)
	for range 2 { // the second one finds none under way
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.CopyN(io.Discard, r, 100_000)
			_ = r.Close()
		}()
		root := newRoot(false)
		root.SetArgs([]string{"trace", "--socket", socket, "-c", "1000000", "--for", "5m", "-f", "-"})
		root.SetOut(w)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("got %v", err)
		}
		_ = w.Close()
	}
}

func TestATraceThatIsRefusedLeavesNoFile(t *testing.T) {
	socket := traced(t)
	name := filepath.Join(t.TempDir(), "none.pcapng")
	_, _, err := sinterctl(t, "trace", "--socket", socket, "--class", "from insid:1", "-f", name)
	if err == nil || !strings.Contains(err.Error(), `no segment "from insid"; its first is "from inside"`) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sinterctl(t, "trace", "--socket", socket, "-f", name); !os.IsExist(err) {
		t.Errorf("a file that is there: got %v", err)
	}
}
