package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

func newTrace(dir func() folder) *cobra.Command {
	var request string
	cmd := &cobra.Command{
		Use:   "trace --request JSON",
		Short: "Stream sampled packets of the engine to kubectl sinter trace",
		Long: `kubectl sinter trace runs this command in the agent's container, as kubectl exec does. The request is a StartTrace, the output a stream of
Responses of control.proto, each behind its length. The trace stops when standard input ends, when a limit of the request is reached, or when
nobody reads it for a minute.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // the trace is to be stopped when nobody reads it, not this process
			return control.RelayTrace(cmd.Context(), dir().socket(), request, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&request, "request", "{}", "what to trace")
	return cmd
}
