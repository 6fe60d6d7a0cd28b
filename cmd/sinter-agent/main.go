// Command sinter-agent is the process beside each packet engine: it brings programs into the engine and reports what the
// engine does. Its other commands start, probe and drain the engine in the engine's own container.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// version is set by the build.
var version = "unknown"

func main() {
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))
	klog.SetLogger(log)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot(log).ExecuteContext(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sinter-agent:", err)
		os.Exit(1)
	}
}

// folder is what engine and agent share.
type folder string

func (f folder) socket() string   { return filepath.Join(string(f), "engine.sock") }
func (f folder) binding() string  { return filepath.Join(string(f), "binding.json") }
func (f folder) draining() string { return filepath.Join(string(f), "draining") }
func (f folder) programs() string { return filepath.Join(string(f), "programs") }

func newRoot(log logr.Logger) *cobra.Command {
	root := &cobra.Command{
		Use:           "sinter-agent",
		Short:         "Bring programs into the packet engine of this pod, and report what it does",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	var shared string
	root.PersistentFlags().StringVar(&shared, "folder", "/run/sinter",
		"folder that agent and engine share: control socket, last good programs, what the engine was started with")
	dir := func() folder { return folder(shared) }
	root.AddCommand(
		newRun(dir, log), newExecEngine(dir), newBind(), newDrain(dir), newProbe(dir), newWires(), newTrace(dir), newTop(dir),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), buildVersion()) },
		},
	)
	return root
}

func buildVersion() string {
	goVersion := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = " " + info.GoVersion
	}
	return "sinter-agent " + version + goVersion
}
