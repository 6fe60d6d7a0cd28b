package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/capture"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/runner"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const aboutTrace = `
Packets are kept as they came and as they left: the interfaces of the file are called "inside in" and
"outside out". All frames of one packet have the same packet identifier, and the first one's comments
say which classes it met and why it was dropped. Without --class and --drop all packets are wanted; with
both, those of a class that were dropped for a reason.

The file is pcapng, for Wireshark and tcpdump; "-f -" writes it to standard output as it grows.`

// tracing is what both commands have in common.
type tracing struct {
	want capture.Flags
	file string
}

func (t *tracing) flags(cmd *cobra.Command) {
	t.want.Add(cmd.Flags())
	cmd.Flags().StringVarP(&t.file, "file", "f", "", "file to write, - for standard output (default sinter-<time>.pcapng)")
}

// into has a trace written to the file. What was traced before something went wrong is kept.
func (t *tracing) into(cmd *cobra.Command, write func(*capture.File, *controlpb.StartTrace, func(string)) error) error {
	want, err := t.want.Want()
	if err != nil {
		return usageError{err}
	}
	say := func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
	if t.file == "-" {
		if f, ok := cmd.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return usageError{errors.New("--file -: a capture is not for terminals; pipe it into tcpdump -r - or wireshark -k -i -")}
		}
		// The reader may close the pipe: that stops the trace, not this process.
		signal.Ignore(syscall.SIGPIPE)
		err := write(capture.NewFile(cmd.OutOrStdout(), buildVersion()), want, say)
		if errors.Is(err, syscall.EPIPE) {
			return nil
		}
		return err
	}
	if t.file == "" {
		t.file = "sinter-" + time.Now().UTC().Format("20060102-150405") + ".pcapng"
	}
	f, err := os.OpenFile(t.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	file := capture.NewFile(f, buildVersion())
	err = errors.Join(write(file, want, say), f.Close())
	if !file.Begun() {
		return errors.Join(err, os.Remove(t.file))
	}
	say("wrote " + t.file)
	return err
}

func newTrace() *cobra.Command {
	var t tracing
	var socket string
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Capture sampled packets of a running engine, of a class or dropped for a reason",
		Long:  "Trace copies packets that a running engine processes.\n" + aboutTrace,
		Example: `  sinterctl trace --class "from inside:4" --for 30s
  sinterctl trace --drop nat-exhausted -f - | tcpdump -nr -`,
		Args: argsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.into(cmd, func(f *capture.File, want *controlpb.StartTrace, say func(string)) error {
				client, err := dial(cmd.Context(), socket)
				if err != nil {
					return err
				}
				defer client.Close()
				source := f.Source("", func(hash []byte) *programpb.Program { return runner.SavedProgram(socket, hash) })
				if err := client.Trace(cmd.Context(), want, source); err != nil {
					return err
				}
				say(source.Summary())
				return nil
			})
		},
	}
	t.flags(cmd)
	cmd.Flags().StringVar(&socket, "socket", defaultSocket, "control socket of the engine")
	return cmd
}

func newClusterTrace() *cobra.Command {
	var t tracing
	var instances []string
	cmd := &cobra.Command{
		Use:   "trace <chain>",
		Short: "Capture sampled packets of a chain's instances, of a class or dropped for a reason",
		Long: "Trace copies packets that the instances of a chain process. It runs sinter-agent in their pods, as kubectl exec does,\n" +
			"for which it needs the right to create pods/exec. --packets holds for each instance.\n" + aboutTrace,
		Example: `  kubectl sinter trace edge --class "from inside:4" --for 30s
  kubectl sinter trace edge --instance edge-0 --drop nat-exhausted -f - | wireshark -k -i -`,
		Args: argsBetween(1, 1),
	}
	t.flags(cmd)
	cmd.Flags().StringArrayVar(&instances, "instance", nil, "trace the instance of this `name` only; may be repeated")
	onCluster(cmd, func(ctx context.Context, c *cluster.Cluster, _ io.Writer, args []string) error {
		return t.into(cmd, func(f *capture.File, want *controlpb.StartTrace, say func(string)) error {
			return c.Trace(ctx, f, args[0], instances, want, say)
		})
	})
	return cmd
}
