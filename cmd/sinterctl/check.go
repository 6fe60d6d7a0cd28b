package main

import (
	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/check"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// checkTimeout bounds each request of a check: longer than the API server waits for a webhook.
const checkTimeout = "15s"

func newCheck() *cobra.Command {
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether Sinter works in a cluster, or would if it was installed",
		Long: `Check looks at the API server, nodes, networks, Sinter's installation and its chains, and says what is wrong and what to
do about it. It changes nothing. Without Sinter in the cluster, it says whether it can be installed and would work.
It fails if something is an error; what it may not look at is unknown, and no error.`,
		Args: argsBetween(0, 0),
	}
	cmd.Flags().VarP(output, "output", "o", "what to print")
	f := cluster.Flags{Timeout: checkTimeout}
	addClusterFlags(cmd, &f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := f.Connect()
		if err != nil {
			return err
		}
		report := check.Run(cmd.Context(), c)
		if err := output.print(cmd.OutOrStdout(), report, report.Text); err != nil {
			return err
		}
		return report.Err()
	}
	return cmd
}
