package main

import (
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
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "Fetch bytes by TCP, and say how fast they came",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			conn, err := (&net.Dialer{Timeout: patience}).DialContext(cmd.Context(), "tcp4", from)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := fmt.Fprintln(conn, bytes); err != nil {
				return err
			}
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, conn)
			if err == nil && n != bytes {
				err = errors.New("the stream ended early")
			}
			if err != nil {
				return fmt.Errorf("%d of %d bytes: %w", n, bytes, err)
			}
			took := time.Since(start)
			fmt.Fprintf(cmd.OutOrStdout(), "%d bytes in %s: %.1f Mbit/s\n", n, took.Round(time.Millisecond), float64(n)*8/1e6/took.Seconds())
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "address that serves")
	flags.Int64Var(&bytes, "bytes", 1, "how many")
	flags.DurationVar(&patience, "patience", 3*time.Second, "how long a connection may take")
	return cmd
}
