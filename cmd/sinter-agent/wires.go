package main

import (
	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/dataplane/agent/wires"
	"github.com/sinter-nfv/sinter/dataplane/binding"
)

func newWires() *cobra.Command {
	return &cobra.Command{
		Use:   "wires ENGINE=FUNCTION[,mtu=BYTES]…",
		Short: "Make the network devices between the engine and functions in containers of this pod",
		Long: `Makes a veth pair for each argument, of which the engine opens one end and the function the other, and sets both up. What is there already stays.
It runs before the pod's other containers, and needs NET_ADMIN.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list := make([]binding.Wire, len(args))
			for i, text := range args {
				var err error
				if list[i], err = binding.ParseWire(text); err != nil {
					return err
				}
			}
			return wires.Make(list)
		},
	}
}
