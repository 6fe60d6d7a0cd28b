package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// `kubectl sinter trace` through the API server's and kubelet's exec: packets as they came and as they left.
func TestPacketsAreTracedThroughTheCluster(t *testing.T) {
	w := begin(t)
	w.edge()
	load := w.send(10 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	file, err := run(ctx, "", "kubectl", "sinter", "trace", chainName, "--packets", "20", "--for", "8s", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	load.lossless("a trace")
	came, left := 0, 0
	for _, f := range frames(t, file) {
		switch f.by {
		case podName + "/inside in":
			if f.src.IsPrivate() && f.dst == netip.MustParseAddr(server) {
				came++
			}
		case podName + "/outside out":
			if !f.src.IsPrivate() && f.dst == netip.MustParseAddr(server) {
				left++
			}
		}
	}
	if came == 0 || left == 0 {
		t.Errorf("of the client's datagrams, %d came by inside as they were sent and %d left by outside with another source, wanted some of both", came, left)
	}
}

// frame is an IPv4 frame of a capture.
type frame struct {
	by       string // the capture's interface
	src, dst netip.Addr
}

func frames(t *testing.T, file string) (all []frame) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader([]byte(file)), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatalf("what trace printed is no pcapng: %v", err)
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		by, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		ip, is := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.NoCopy).Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if !is {
			continue
		}
		src, _ := netip.AddrFromSlice(ip.SrcIP.To4())
		dst, _ := netip.AddrFromSlice(ip.DstIP.To4())
		all = append(all, frame{by.Name, src, dst})
	}
}
