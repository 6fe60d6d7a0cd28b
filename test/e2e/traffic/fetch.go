package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"
)

func newFetch() *cobra.Command {
	var from string
	var bytes int64
	var times int
	var patience, within time.Duration
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "Fetch bytes by TCP, and say how fast they came",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			for k := range times {
				if err := fetch(cmd.Context(), from, bytes, patience, within); err != nil {
					return fmt.Errorf("connection %d of %d: %w", k+1, times, err)
				}
			}
			took, all := time.Since(start), bytes*int64(times)
			fmt.Fprintf(cmd.OutOrStdout(), "%d bytes in %s: %.1f Mbit/s\n", all, took.Round(time.Millisecond), float64(all)*8/1e6/took.Seconds())
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "address that serves")
	flags.Int64Var(&bytes, "bytes", 1, "how many")
	flags.IntVar(&times, "times", 1, "how many times, each by a connection of its own")
	flags.DurationVar(&patience, "patience", 3*time.Second, "how long a connection may take")
	flags.DurationVar(&within, "within", time.Minute, "how long its bytes may take")
	return cmd
}

// fetch has all bytes come by one connection.
func fetch(ctx context.Context, from string, bytes int64, patience, within time.Duration) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp4", from)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, bytes); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, conn)
	if err == nil && n != bytes {
		err = errors.New("the stream ended early")
	}
	if err != nil {
		return fmt.Errorf("%d of %d bytes: %w", n, bytes, err)
	}
	return nil
}
