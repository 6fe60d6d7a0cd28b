package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/top"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/flows"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const aboutTop = `
The chain needs a monitor with "top", which says what is listed and for how long is counted. Bytes are those of IP packets.
They are never too few; how many they may be too many is told for each row.`

// topping is what both commands have in common.
type topping struct {
	limit   int
	running bool
	output  *choice
}

func (t *topping) flags(cmd *cobra.Command) {
	t.output = oneOf("text", "json", "yaml")
	cmd.Flags().IntVar(&t.limit, "limit", 20, "rows of each list at most")
	cmd.Flags().BoolVar(&t.running, "running", false, "the interval that runs, not the last complete one")
	cmd.Flags().VarP(t.output, "output", "o", "what to print")
}

// request asks each worker for more rows than are shown: then a row that one worker lists further down is complete.
func (t *topping) request() *programpb.GetTop {
	return &programpb.GetTop{Limit: uint32(max(10*t.limit, 1000)), Running: t.running}
}

func (t *topping) show(w io.Writer, engines []*programpb.TopList, name string) error {
	tops, err := flows.Merge(engines, t.limit)
	if err != nil {
		return err
	}
	if tops, err = top.Only(tops, name); err != nil {
		return err
	}
	return t.output.print(w, tops, func(w io.Writer) error { return top.Text(w, tops) })
}

func topArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := argsBetween(least, most)(cmd, args); err != nil || len(args) == 0 {
			return err
		}
		return top.Known(args[0])
	}
}

func newTop() *cobra.Command {
	var t topping
	var socket string
	cmd := &cobra.Command{
		Use:       "top [" + strings.Join(top.Names(), " | ") + "]",
		Short:     "Show the heaviest flows, hosts or prefixes of a running engine",
		Long:      "Top lists what is heaviest of what a monitor of the chain saw.\n" + aboutTop,
		ValidArgs: top.Names(),
		Args:      topArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd, socket, func(ctx context.Context, c *control.Client) error {
				list, err := c.Top(ctx, t.request())
				if err != nil {
					return err
				}
				return t.show(cmd.OutOrStdout(), []*programpb.TopList{list}, strings.Join(args, ""))
			})
		},
	}
	t.flags(cmd)
	cmd.Flags().StringVar(&socket, "socket", defaultSocket, "control socket of the engine")
	return cmd
}

func newClusterTop() *cobra.Command {
	var t topping
	var instances []string
	cmd := &cobra.Command{
		Use:   "top (" + strings.Join(top.Names(), " | ") + ") <chain>",
		Short: "Show the heaviest flows, hosts or prefixes of a chain's instances together",
		Long: "Top lists what is heaviest of what a monitor of the chain saw, in all of its instances. It runs sinter-agent in their pods, as kubectl exec\n" +
			"does, for which it needs the right to create pods/exec.\n" + aboutTop,
		Example: `  kubectl sinter top flows edge
  kubectl sinter top sources edge --running --limit 5`,
		Args: topArgs(2, 2),
	}
	t.flags(cmd)
	cmd.Flags().StringArrayVar(&instances, "instance", nil, "ask the instance of this `name` only; may be repeated")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		lists, err := c.Top(ctx, args[1], instances, t.request())
		if len(lists) == 0 {
			return err
		}
		return errors.Join(t.show(w, lists, args[0]), err)
	})
	cmd.ValidArgsFunction = after(top.Names(), cmd.ValidArgsFunction)
	return cmd
}
