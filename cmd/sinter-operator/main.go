// Command sinter-operator runs service chains on Kubernetes: flags and wiring.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sinter-nfv/sinter/controllers/confined"
)

// version is set by the build.
var version = "unknown"

func main() {
	if err := newRoot().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "sinter-operator:", err)
		os.Exit(1)
	}
}

// compileCommand is what the operator runs itself as, to compile chains.
const compileCommand = "compile"

func newRoot() *cobra.Command {
	o := options{}
	level := "info"
	root := &cobra.Command{
		Use:           "sinter-operator",
		Short:         "Compile ServiceChains, and run them on pinned cores of the cluster's nodes",
		Version:       buildVersion(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(level)
			if err != nil {
				return err
			}
			if o.pods.Image == "" {
				return errors.New("--dataplane-image: want the image with engine and agent")
			}
			ctrl.SetLogger(log)
			return o.run(cmd.Context())
		},
	}
	root.AddCommand(&cobra.Command{
		Use:    compileCommand,
		Short:  "Compile what the operator writes to this process",
		Args:   cobra.NoArgs,
		Hidden: true, // who uses the operator has no use for it
		RunE: func(cmd *cobra.Command, _ []string) error {
			return confined.Serve(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	flags := root.Flags()
	flags.StringVar(&level, "log-level", level, "debug, info or error")
	o.flags(flags)
	return root
}

// logger writes JSON lines to standard error.
func logger(level string) (logr.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return logr.Discard(), fmt.Errorf("--log-level %q: want debug, info or error", level)
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return version + " " + info.GoVersion
	}
	return version
}
