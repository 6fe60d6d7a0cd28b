package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/live"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/runner"
)

func newRun() *cobra.Command {
	c := runner.Config{Watch: true}
	var binds []string
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "run " + files + " [-- EAL arguments]",
		Short: "Run a chain on network interfaces or pcap files",
		Long: `Run compiles a chain, starts the engine on the chain's interfaces, and shows what
passes. When a file of the chain changes, or on SIGHUP, the chain is read again and its
program is replaced without losing a packet; a chain with a mistake is refused and leaves the
running program untouched. SIGINT and SIGTERM stop it.

A device is a kernel interface (veth0), a PCI address (0000:03:00.1) bound to vfio-pci, or a
DPDK device string (net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap). Arguments after -- go to
DPDK's environment layer as they are.`,
		Example: `  sinterctl run chain.yaml --bind inside=eth1 --bind outside=eth2
  sinterctl run chain.yaml --bind inside=net_pcap0,rx_pcap=in.pcap,tx_pcap=/dev/null \
    --bind outside=net_pcap1,tx_pcap=out.pcap --for 5s --no-huge -- --no-pci`,
		Args: pathsBetween(1, unbounded),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Input.Paths, c.Engine.EAL = splitDash(cmd, args)
			var err error
			if c.Binds, err = parseBinds(binds); err != nil {
				return usageError{err}
			}
			if c.Every <= 0 {
				return usageError{fmt.Errorf("--every %s: want a time above zero", c.Every)}
			}
			c.Engine.Log = cmd.ErrOrStderr()
			c.Say = func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
			c.View = newView(cmd, asJSON, quiet)
			reload := make(chan os.Signal, 1)
			signal.Notify(reload, syscall.SIGHUP)
			defer signal.Stop(reload)
			return runner.Run(cmd.Context(), c, reload)
		},
	}
	flags := cmd.Flags()
	addInput(flags, &c.Input)
	flags.StringArrayVar(&binds, "bind", nil, "device of an interface, as in inside=eth1; default: the chain's `device`")
	flags.StringVar(&c.Engine.Socket, "socket", defaultSocket, "control socket of the engine")
	flags.StringVar(&c.Engine.Dir, "engine-dir", "", "folder of the engine's programs")
	flags.IntVar(&c.Engine.Workers, "workers", 1, "worker threads, a CPU each")
	flags.BoolVar(&c.Engine.NoHuge, "no-huge", false, "run without hugepages")
	flags.BoolVar(&c.Watch, "watch", true, "reload when a file changes")
	flags.DurationVar(&c.For, "for", 0, "stop after this time")
	flags.DurationVar(&c.Every, "every", time.Second, "time between two views")
	flags.BoolVar(&asJSON, "json", false, "show the counters as JSON, a line each time")
	flags.BoolVarP(&quiet, "quiet", "q", false, "do not show the counters")
	return cmd
}

// splitDash parts the arguments at "--".
func splitDash(cmd *cobra.Command, args []string) (before, after []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func parseBinds(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, b := range list {
		name, device, ok := strings.Cut(b, "=")
		if !ok || name == "" || device == "" {
			return nil, fmt.Errorf("--bind %s: want <interface>=<device>, as in inside=eth1", b)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("--bind %s: interface %s is bound twice", b, name)
		}
		out[name] = device
	}
	return out, nil
}

func newView(cmd *cobra.Command, asJSON, quiet bool) runner.View {
	w := cmd.OutOrStdout()
	f, isFile := w.(*os.File)
	switch {
	case quiet:
		return live.Quiet{}
	case asJSON:
		return live.JSON{W: w}
	case isFile && term.IsTerminal(int(f.Fd())):
		return live.Screen{W: w, Size: func() (int, int) {
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		}}
	}
	return live.Log{W: w}
}
