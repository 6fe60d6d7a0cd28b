package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/live"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/runner"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/sessions"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
)

const (
	defaultSocket = "/run/sinter/engine.sock"
	// answerTimeout bounds a question to a running engine.
	answerTimeout = 10 * time.Second
)

// ask connects to a running engine.
func ask(cmd *cobra.Command, socket string, question func(context.Context, *control.Client) error) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), answerTimeout)
	defer cancel()
	c, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	return question(ctx, c)
}

// dial connects to a running engine, or says why there is none.
func dial(ctx context.Context, socket string) (*control.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := control.Dial(ctx, socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no engine listens on %s: start one with sinterctl run, or name the socket of another with --socket", socket)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s may not be opened by this user: the engine's user and root may", socket)
	}
	return c, err
}

func newStats() *cobra.Command {
	var socket string
	var over time.Duration
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show the counters of a running engine",
		Args:  argsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, socket, func(ctx context.Context, c *control.Client) error {
				now, err := c.Stats(ctx)
				if err != nil {
					return err
				}
				var before *controlpb.Stats
				if over > 0 {
					before = now
					select {
					case <-time.After(over):
					case <-ctx.Done():
						return ctx.Err()
					}
					if now, err = c.Stats(ctx); err != nil {
						return err
					}
				}
				r := live.Make(runner.SavedProgram(socket, now.GetHash()), before, now)
				return output.print(cmd.OutOrStdout(), r, func(w io.Writer) error { return live.Text(w, r, 0) })
			})
		},
	}
	cmd.Flags().StringVar(&socket, "socket", defaultSocket, "control socket of the engine")
	cmd.Flags().DurationVar(&over, "over", 0, "measure the rates over this time, at most 8s")
	cmd.Flags().VarP(output, "output", "o", "what to print")
	return cmd
}

func newSessions() *cobra.Command {
	var socket string
	var table, limit uint32
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the NAT bindings of a running engine",
		Args:  argsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, socket, func(ctx context.Context, c *control.Client) error {
				list, err := c.Sessions(ctx, table, limit)
				if err != nil {
					return fmt.Errorf("sessions of table %d: %w", table, err)
				}
				l := sessions.List(list)
				return output.print(cmd.OutOrStdout(), l, func(w io.Writer) error { return sessions.Text(w, l) })
			})
		},
	}
	cmd.Flags().StringVar(&socket, "socket", defaultSocket, "control socket of the engine")
	cmd.Flags().Uint32Var(&table, "table", 0, "index of the state table")
	cmd.Flags().Uint32Var(&limit, "limit", 1000, "list at most this many")
	cmd.Flags().VarP(output, "output", "o", "what to print")
	return cmd
}
