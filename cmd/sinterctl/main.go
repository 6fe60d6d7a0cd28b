// Command sinterctl checks, explains and runs service chains on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitError = 1
	exitUsage = 2
)

// version is set by the build.
var version = "unknown"

func main() {
	debug.SetGCPercent(1000) // a compiler runs for milliseconds: memory for speed
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, filepath.Base(os.Args[0]), os.Args[1:])
	cancel()
	os.Exit(code)
}

func run(ctx context.Context, name string, args []string) int {
	root := newRoot(strings.HasPrefix(name, pluginPrefix))
	root.SetArgs(args)
	started := false // all that fails before a command starts is a matter of usage
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := flagsFit(cmd); err != nil { // cobra would check it too late for that
			return err
		}
		started = true
		return nil
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, root.DisplayName()+":", err)
	var usage usageError
	if !started || errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "usage: %s\nsee %s --help\n", cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}
	return exitError
}

// usageError is a mistake in the command line that flags alone cannot find.
type usageError struct{ error }

// pluginPrefix is how the names of kubectl's plugins begin.
const pluginPrefix = "kubectl-"

// newRoot makes the command; as kubectl's plugin it has what is said to the cluster at its top.
func newRoot(plugin bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "sinterctl",
		Short: "Check, explain and run service chains on one machine",
		Long: `Sinter compiles a chain of network functions into one packet program.
sinterctl compiles and runs chains on one machine, without a cluster; "sinterctl cluster" is for chains of a cluster.

Exit codes: 0 done, 1 error, 2 wrong usage.`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if plugin {
		root.Use = "sinter"
		root.Short = "Show and steer the service chains of a cluster"
		root.Long = `Sinter compiles a chain of network functions into one packet program.
This is sinterctl with a cluster: beside its commands for files it has those for the cluster.

Exit codes: 0 done, 1 error, 2 wrong usage.`
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sinter"}
		addCluster(root)
	} else {
		root.AddCommand(newExplain(), newTrace(), newTop(), newCluster())
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(
		newValidate(), newSynth(), newRun(), newStats(), newSessions(), newBench(),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: argsBetween(0, 0),
			Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), buildVersion()) },
		},
	)
	complete(root)
	return root
}

func buildVersion() string {
	goVersion := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = " " + info.GoVersion
	}
	return "sinterctl " + version + goVersion
}
