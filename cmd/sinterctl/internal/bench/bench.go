// Package bench measures what a chain costs per packet, with packets from memory.
package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/explain"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Config is what to measure.
type Config struct {
	Chain       *compile.Chain
	Entry       int      // interface by which the packets enter
	Frames      [][]byte // replayed without end
	UniqueFlows bool     // each packet opens a flow of its own
	NoHuge      bool
	Dir         string   // folder of sinter-bench; empty: see engine.Find
	EAL         []string // further arguments of DPDK's environment layer
	Log         io.Writer
}

// Run measures.
func Run(ctx context.Context, c Config) (*Result, error) {
	path, err := engine.Find("sinter-bench", c.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sinter-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	programFile, pcap := filepath.Join(dir, "program"), filepath.Join(dir, "packets.pcap")
	encoded, err := program.Encode(measured(c))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(programFile, encoded, 0o600); err != nil {
		return nil, err
	}
	if err := explain.WritePcap(pcap, c.Frames); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, c.args(programFile, pcap)...)
	cmd.Stdout, cmd.Stderr = &out, c.Log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("sinter-bench: %w", err)
	}
	return parse(out.Bytes())
}

func (c Config) args(programFile, pcap string) []string {
	args := []string{"--entry", c.Chain.Graph.Interfaces[c.Entry].Name}
	if c.UniqueFlows {
		args = append(args, "--unique-flows=1")
	}
	if c.NoHuge {
		args = append(args, "--no-huge")
	}
	args = append(args, programFile, "--", "--no-pci",
		"--vdev", "net_pcap0,rx_pcap="+pcap+",infinite_rx=1", "--vdev", "net_null0")
	return append(args, c.EAL...)
}

// measured is the chain's program with the next hops of the frames as static neighbours: nobody answers ARP from memory.
// All flows are of one host, so a host may have any number.
func measured(c Config) *programpb.Program {
	p := proto.CloneOf(c.Chain.Result.Program)
	for _, s := range p.Subscribers {
		s.MaxSessions = math.MaxUint32
		if s.MaxPorts > 0 { // a set without ports stays one
			s.MaxPorts = math.MaxUint32
		}
	}
	e := explain.New(c.Chain.Graph, c.Chain.Result)
	seen := map[string]bool{}
	for _, frame := range c.Frames {
		for _, out := range e.Explain(c.Entry, frame).Out {
			vlan := vlanOf(out.Frame)
			key := fmt.Sprint(out.Interface, vlan, out.NextHop)
			if !out.Unresolved || seen[key] {
				continue
			}
			seen[key] = true
			a := out.NextHop.As4()
			p.Interfaces[out.Interface].Neighbors = append(p.Interfaces[out.Interface].Neighbors, &programpb.Neighbor{
				Address: uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3]),
				Mac:     []byte{0x02, 0, 0, 0, 0, 0xfd},
				Vlan:    vlan,
			})
		}
	}
	return p
}

// vlanOf is the VLAN of a frame; 0: untagged.
func vlanOf(frame []byte) uint32 {
	if t := binary.BigEndian.Uint16(frame[12:]); t != 0x8100 && t != 0x88a8 {
		return 0
	}
	return uint32(binary.BigEndian.Uint16(frame[14:]) & 0xfff)
}
