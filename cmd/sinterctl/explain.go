package main

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/explain"
)

// packetFlags describe a packet.
type packetFlags struct {
	in, src, dst string
	spec         explain.Spec
	hex, pcap    string
	number       int
	reply        bool
}

func newExplain() *cobra.Command {
	var f chainFlags
	cmd := &cobra.Command{
		Use:   "explain " + files,
		Short: "Show what happens to one packet, and why",
		Long: `Explain sends one packet through the chain as it was written, element by element, and
looks it up in the synthesized program: its class, its rewrite, and what both stand for.
The packet is described by flags, or given as it is by --hex or --pcap.`,
		Example: `  sinterctl explain chain.yaml --in inside --src 10.0.0.10 --dst 203.0.113.80 --dport 443
  sinterctl explain chain.yaml --in inside --src 10.0.0.10 --dst 203.0.113.80 --proto icmp --ttl 1
  sinterctl explain chain.yaml --in outside --pcap trace.pcap --packet 7`,
		Args: argsBetween(1, unbounded),
	}
	f.add(cmd.Flags())
	explains(cmd, f.compile)
	return cmd
}

// explains makes a command explain a packet to the chain that its arguments name.
func explains(cmd *cobra.Command, compiled func(*cobra.Command, []string) (*compile.Chain, error)) {
	var p packetFlags
	output := oneOf("text", "json", "yaml")
	p.add(cmd)
	cmd.Flags().BoolVar(&p.reply, "reply", false, "then explain the reply to what left")
	cmd.Flags().VarP(output, "output", "o", "what to print")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := compiled(cmd, args)
		if err != nil {
			return err
		}
		stories, err := p.tell(explain.New(c.Graph, c.Result))
		if err != nil {
			return err
		}
		return output.print(cmd.OutOrStdout(), stories, func(w io.Writer) error { return writeStories(w, stories) })
	}
}

func writeStories(w io.Writer, stories []explain.Story) error {
	for i, s := range stories {
		switch {
		case s.Behind != "":
			fmt.Fprintf(w, "\nand behind %s, if that lets it through as it is\n", s.Behind)
		case i > 0:
			fmt.Fprintln(w, "\nand the reply")
		}
		if err := s.Text(w); err != nil {
			return err
		}
	}
	return nil
}

func (p *packetFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&p.in, "in", "", "interface by which the packet enters")
	flags.StringVar(&p.src, "src", "", "source address")
	flags.StringVar(&p.dst, "dst", "", "destination address")
	flags.StringVar(&p.spec.Proto, "proto", "tcp", "protocol: tcp, udp, icmp or a number")
	flags.Uint16Var(&p.spec.SPort, "sport", 40000, "source port (of ICMP echo: the identifier)")
	flags.Uint16Var(&p.spec.DPort, "dport", 80, "destination port")
	flags.Uint8Var(&p.spec.TTL, "ttl", 64, "time to live")
	flags.Uint8Var(&p.spec.DSCP, "dscp", 0, "differentiated services code point")
	flags.IntVar(&p.spec.VLAN, "vlan", -1, "VLAN identifier; -1: untagged")
	flags.StringVar(&p.spec.Flags, "tcp-flags", "SYN", "TCP flags, separated by commas")
	flags.Uint8Var(&p.spec.ICMPType, "icmp-type", 8, "ICMP type")
	flags.Uint8Var(&p.spec.ICMPCode, "icmp-code", 0, "ICMP code")
	flags.IntVar(&p.spec.Payload, "payload", 0, "bytes behind the headers")
	flags.StringVar(&p.hex, "hex", "", "the Ethernet frame in hexadecimal digits")
	flags.StringVar(&p.pcap, "pcap", "", "take the packet from this pcap or pcapng file")
	flags.IntVar(&p.number, "packet", 1, "number of the packet in the file, from 1")
	cmd.MarkFlagsMutuallyExclusive("hex", "pcap", "src")
	cmd.MarkFlagsMutuallyExclusive("hex", "pcap", "dst")
	if err := cmd.MarkFlagRequired("in"); err != nil {
		panic(err) // the flag is above
	}
}

// tell explains the packet and, if asked, its reply.
func (p *packetFlags) tell(e *explain.Explainer) ([]explain.Story, error) {
	in, err := e.Interface(p.in)
	if err != nil {
		return nil, usageError{err}
	}
	frame, err := p.frame(e, in)
	if err != nil {
		return nil, err
	}
	stories := e.Follow(in, frame)
	if !p.reply {
		return stories, nil
	}
	reply, err := e.Reply(stories)
	if err != nil {
		return nil, fmt.Errorf("--reply: %w", err)
	}
	return append(stories, reply...), nil
}

func (p *packetFlags) frame(e *explain.Explainer, in int) ([]byte, error) {
	switch {
	case p.hex != "":
		frame, err := explain.Hex(p.hex)
		if err != nil {
			return nil, usageError{err}
		}
		return frame, nil
	case p.pcap != "":
		return explain.Pcap(p.pcap, p.number)
	}
	var err error
	if p.spec.Src, err = address("src", p.src); err != nil {
		return nil, err
	}
	if p.spec.Dst, err = address("dst", p.dst); err != nil {
		return nil, err
	}
	frame, err := p.spec.Frame(e.MAC(in))
	if err != nil {
		return nil, usageError{err}
	}
	return frame, nil
}

func address(flag, value string) (netip.Addr, error) {
	a, err := netip.ParseAddr(value)
	if err != nil || !a.Is4() {
		return a, usageError{fmt.Errorf("--%s %q: want an IPv4 address, as in 10.0.0.10", flag, value)}
	}
	return a, nil
}
