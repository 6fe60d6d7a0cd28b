// Package enginetest gives tests a real engine that packets come to without end.
package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// patience is how long an engine may take to load a small program on a machine that is busy.
const patience = 2 * time.Minute

// mac is what DPDK gives the first of its pcap devices.
var mac = packets.MAC{0x02, 'p', 'c', 'a', 'p', 0}

// UDP is a UDP packet, addressed to the engine's first interface.
func UDP(src, dst uint32, sport, dport uint16) []byte {
	ip := packets.IPv4{Src: src, Dst: dst, Proto: packets.ProtoUDP, TTL: 64, Payload: packets.UDP(src, dst, sport, dport, nil)}
	return packets.Ethernet(mac, packets.MAC{2, 0, 0, 0, 0, 9}, nil, packets.EtherIPv4, ip.Bytes(), make([]byte, 18))
}

// Run starts an engine of the folder with a program. Its first interface sees the frames again and again, the others see nothing and
// keep nothing. Returns its control socket.
func Run(t *testing.T, dir string, p *programpb.Program, hash string, frames ...[]byte) string {
	t.Helper()
	if _, err := engine.Find("sinter-engine", dir); err != nil {
		t.Skipf("the engine is not built (make engine): %v", err)
	}
	folder, err := os.MkdirTemp("", "trace") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	c := engine.Config{
		Dir: dir, Socket: filepath.Join(folder, "engine.sock"), Workers: 1, NoHuge: true,
		EAL: []string{"--no-pci", "--no-telemetry"}, Log: t.Output(),
	}
	for i, n := range p.GetInterfaces() {
		c.MTU = max(c.MTU, int(n.GetMtu()))
		device := fmt.Sprintf("net_null%d,no-rx=1", i)
		if i == 0 {
			device = fmt.Sprintf("net_pcap0,rx_pcap=%s,infinite_rx=1", capture(t, folder, frames))
		}
		c.Binds = append(c.Binds, engine.Bind{Interface: n.GetName(), Device: device})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	process, err := engine.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(); err != nil {
			t.Error(err)
		}
	})
	encoded, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.Load(ctx, encoded, hash); err != nil {
		t.Fatal(err)
	}
	return c.Socket
}

// capture is a file of the frames.
func capture(t *testing.T, folder string, frames [][]byte) string {
	t.Helper()
	path := filepath.Join(folder, "in.pcap")
	if err := packets.WriteCapture(path, frames); err != nil {
		t.Fatal(err)
	}
	return path
}
