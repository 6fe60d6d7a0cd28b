package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/connectivity"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/progress"
)

func newConnectivityTest() *cobra.Command {
	o := connectivity.Options{Doing: func(what string) func() { return progress.Start(os.Stderr, false, what).Stop }}
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "connectivity-test",
		Short: "Send test packets through a chain that the test makes, and delete it",
		Long: `Connectivity-test makes a chain with a firewall, a router and a NAPT in the namespace, and a pod on each side of it. It sends
packets that must pass or be answered, and frames that must be dropped, each for its own reason, and compares what comes out and what the
chain counts. Then it deletes all that it made. It fails if a test failed.

The chain needs a node with a free core. The namespace must admit privileged pods, as for any chain.`,
		Example: `  kubectl sinter connectivity-test -n lab
  kubectl sinter connectivity-test -n lab --inside lan --outside wan -o json | jq -r '.tests[] | select(.passed | not) | .name'`,
		Args: argsBetween(0, 0),
	}
	flags := cmd.Flags()
	flags.VarP(output, "output", "o", "what to print")
	flags.StringVar(&o.Inside, "inside", "", "NetworkAttachmentDefinition of the namespace for the inside (default: a bridge that the test makes)")
	flags.StringVar(&o.Outside, "outside", "", "NetworkAttachmentDefinition of the namespace for the outside (default: a bridge that the test makes)")
	flags.StringVar(&o.Image, "image", "", "image of the test's pods, which has sinter-smoke (default: the operator's)")
	flags.DurationVar(&o.Wait, "wait", 2*time.Minute, "wait no longer than this time for the chain, and again for the pods")
	flags.DurationVar(&o.Patience, "patience", 30*time.Second, "wait no longer than this time until dropped packets are counted")
	flags.BoolVar(&o.Keep, "keep", false, "leave there what the test made, and say how to delete it")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, _ []string) error {
		for name, d := range map[string]time.Duration{"wait": o.Wait, "patience": o.Patience} {
			if d <= 0 {
				return usageError{fmt.Errorf("--%s %s: want a time above zero", name, d)}
			}
		}
		o.Say = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
		report, err := connectivity.Run(ctx, c, o)
		if report == nil {
			return err
		}
		if printed := output.print(w, report, report.Text); printed != nil {
			return printed
		}
		if err != nil {
			return err
		}
		return report.Err()
	})
	return cmd
}
