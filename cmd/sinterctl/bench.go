package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/bench"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/explain"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/progress"
)

func newBench() *cobra.Command {
	var f chainFlags
	var p packetFlags
	var c bench.Config
	var flows int
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "bench " + files + " [-- EAL arguments]",
		Short: "Measure the cycles per packet of a chain",
		Long: `Bench runs a chain on one core with packets from memory and measures CPU cycles per packet, in
all and by stage. The packets are flows that differ by their source port (of ICMP echo: the identifier),
described as for explain.`,
		Example: `  sinterctl bench chain.yaml --in inside --src 10.0.0.10 --dst 203.0.113.80 --tcp-flags ACK --flows 10000`,
		Args:    pathsBetween(1, unbounded),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, rest := splitDash(cmd, args)
			var err error
			if c.Chain, err = f.compile(cmd, paths); err != nil {
				return err
			}
			e := explain.New(c.Chain.Graph, c.Chain.Result)
			if c.Entry, err = e.Interface(p.in); err != nil {
				return usageError{err}
			}
			if c.Frames, err = p.flows(e, c.Entry, flows); err != nil {
				return err
			}
			if c.UniqueFlows && !explain.Portable(c.Frames[0]) {
				return usageError{errors.New("--unique-flows: the packet has no source port to tell flows by: want untagged TCP or UDP over IPv4")}
			}
			c.EAL, c.Log = rest, cmd.ErrOrStderr()
			bar := progress.Start(os.Stderr, f.progress, "measuring")
			r, err := bench.Run(cmd.Context(), c)
			bar.Stop()
			if err != nil {
				return err
			}
			return output.print(cmd.OutOrStdout(), r, r.Text)
		},
	}
	f.add(cmd.Flags())
	p.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&flows, "flows", 1, "number of flows")
	flags.BoolVar(&c.UniqueFlows, "unique-flows", false, "give every packet a flow of its own")
	flags.BoolVar(&c.NoHuge, "no-huge", false, "run without hugepages")
	flags.StringVar(&c.Dir, "engine-dir", "", "folder of the engine's programs")
	flags.VarP(output, "output", "o", "what to print")
	return cmd
}

// flows are n frames that differ by their source port.
func (p *packetFlags) flows(e *explain.Explainer, in, n int) ([][]byte, error) {
	const first, last = 1024, 65535
	if n < 1 || n > last-first+1 {
		return nil, usageError{fmt.Errorf("--flows %d: want 1 to %d", n, last-first+1)}
	}
	switch {
	case n > 1 && (p.hex != "" || p.pcap != ""):
		return nil, usageError{fmt.Errorf("--flows %d: the packet of --hex or --pcap is one flow: describe it by --src and --dst", n)}
	case n > 1 && !p.spec.Flows():
		return nil, usageError{fmt.Errorf("--flows %d: flows differ by their source port, which --proto %s has not: want tcp, udp, or icmp with --icmp-type 8 or 0", n, p.spec.Proto)}
	}
	var out [][]byte
	for i := range n {
		if n > 1 {
			p.spec.SPort = uint16(first + i)
		}
		frame, err := p.frame(e, in)
		if err != nil {
			return nil, err
		}
		out = append(out, explain.Address(frame, e.MAC(in)))
	}
	return out, nil
}
