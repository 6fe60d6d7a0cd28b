package main

import (
	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

func newTop(dir func() folder) *cobra.Command {
	var request string
	cmd := &cobra.Command{
		Use:   "top --request JSON",
		Short: "Tell kubectl sinter top the heaviest flows, hosts or prefixes",
		Long: `kubectl sinter top runs this command in the agent's container, as kubectl exec does. The request is a GetTop, the output a TopList of
monitor.proto as JSON.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return control.RelayTop(cmd.Context(), dir().socket(), request, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&request, "request", "{}", "what to list")
	return cmd
}
