package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show and steer the service chains of a cluster",
		Long: `The commands of "cluster" are about the chains of a Kubernetes cluster. Called kubectl-sinter,
sinterctl is a kubectl plugin, and these commands are at its top: kubectl sinter status.`,
	}
	addCluster(cmd)
	return cmd
}

// addCluster adds the commands that ask a cluster.
func addCluster(parent *cobra.Command) {
	parent.AddCommand(newCheck(), newConnectivityTest(), newStatus(), newShards(), newPrograms(), newDiff(), newRollback(), newClusterExplain(), newClusterTrace(), newClusterTop(), newCollect())
}

// onCluster makes a command ask the cluster that its flags choose.
func onCluster(cmd *cobra.Command, do func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error) {
	var f cluster.Flags
	addClusterFlags(cmd, &f)
	if strings.Contains(cmd.Use, "<chain>") {
		cmd.ValidArgsFunction = chainFirst(&f, strings.Count(cmd.Use, "<revision>"))
		ofChain(cmd, &f)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := f.Connect()
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, cmd.OutOrStdout(), args)
	}
}

func newShards() *cobra.Command {
	output := oneOf("table", "wide", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "shards <chain>",
		Short: "Show which core of which instance owns which shards of a chain",
		Long: `Shards lists the cores that own shards of a chain's state, as their instances last reported. A row without a core
has shards that no core owns yet, and a note that says why.`,
		Args: argsBetween(1, 1),
	}
	cmd.Flags().VarP(output, "output", "o", "what to print")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		places, err := c.Shards(ctx, args[0])
		if err != nil {
			return err
		}
		return output.print(w, places, func(w io.Writer) error { return c.ShardsText(w, args[0], places, output.value == "wide") })
	})
	return cmd
}

func newPrograms() *cobra.Command {
	output := oneOf("table", "wide", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "programs <chain>",
		Short: "List the revisions of a chain's program, and which is running",
		Args:  argsBetween(1, 1),
	}
	cmd.Flags().VarP(output, "output", "o", "what to print")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		programs, err := c.Programs(ctx, args[0])
		if err != nil {
			return err
		}
		return output.print(w, programs, func(w io.Writer) error { return c.ProgramsText(w, programs, output.value == "wide") })
	})
	return cmd
}

func newDiff() *cobra.Command {
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "diff <chain> <revision> <revision>",
		Short: "Show how two revisions of a chain's program differ",
		Long: `Diff compares two programs class by class: which packets come to a class in only one of them
(- the first, + the second), and what else differs. A revision is a number or a program's name.`,
		Args: argsBetween(3, 3),
	}
	cmd.Flags().VarP(output, "output", "o", "what to print")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		d, err := c.Diff(ctx, args[0], args[1], args[2])
		if err != nil {
			return err
		}
		return output.print(w, d, d.Text)
	})
	return cmd
}

func newRollback() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "rollback <chain> (<revision> | --undo)",
		Short: "Have a chain run an earlier revision of its program",
		Long: `Rollback sets the chain's spec.rollbackTo. The operator brings that program to the instances
one by one, and holds them at it, whatever else is changed in the spec, until --undo.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if undo {
				return argsBetween(1, 1)(cmd, args)
			}
			return argsBetween(2, 2)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "remove the pin, so that the chain runs what the rest of the spec says")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, args []string) error {
		if undo {
			return c.Undo(ctx, w, args[0])
		}
		return c.Rollback(ctx, w, args[0], args[1])
	})
	chainAndRevision := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if undo && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return chainAndRevision(cmd, args, begun)
	}
	return cmd
}

func newClusterExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain <chain>",
		Short: "Show what happens to one packet in a chain of the cluster, and why",
		Long: `Explain reads the chain from the cluster, and the functions and ConfigMaps that it refers to,
and sends one packet through it. Texts of stores it reads from those that --store names. It warns of instances that run another program than that.`,
		Args: argsBetween(1, 1),
	}
	var f cluster.Flags
	var stores []string
	addClusterFlags(cmd, &f)
	addStores(cmd.Flags(), &stores)
	cmd.ValidArgsFunction = chainFirst(&f, 0)
	explains(cmd, func(cmd *cobra.Command, args []string) (*compile.Chain, error) {
		c, err := f.Connect()
		if err != nil {
			return nil, err
		}
		chain, err := c.Compile(cmd.Context(), args[0], stores...)
		if err != nil {
			return nil, err
		}
		warn(cmd.ErrOrStderr(), chain.Warnings())
		return chain, nil
	})
	register(cmd, "in", ofCluster(&f, func(ctx context.Context, c *cluster.Cluster, args []string) []string {
		return c.Interfaces(ctx, strings.Join(args, " "))
	}))
	return cmd
}

func newCollect() *cobra.Command {
	var file string
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Collect what a support ticket needs into a .tar.gz",
		Long: `Collect reads Sinter's objects, its pods and the end of their logs, the events about them, and
versions. It reads neither Secrets nor ConfigMaps, and of variables keeps the names only.
Chains tell of your network: look through the file before you send it.`,
		Args: argsBetween(0, 0),
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file to write (default sinter-<time>.tar.gz)")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "the chains of all namespaces")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, w io.Writer, _ []string) error {
		if everywhere {
			c.Namespace = ""
		}
		if file == "" {
			file = "sinter-" + c.Now().UTC().Format("20060102-150405") + ".tar.gz"
		}
		missing := 0
		err := writeNew(file, func(w io.Writer) (err error) {
			missing, err = c.Collect(ctx, w, buildVersion())
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(w, "wrote", file)
		if missing > 0 {
			warn(cmd.ErrOrStderr(), []string{fmt.Sprintf("%d things could not be read; its errors.txt says which and why", missing)})
		}
		return nil
	})
	return cmd
}

// writeNew writes a file that only its owner may read; a failure leaves none behind.
func writeNew(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
