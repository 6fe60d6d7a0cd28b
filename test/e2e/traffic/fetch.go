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
		Short: "Fetch bytes by TCP, and say how fast they came, and how many connections had which letter",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			start := time.Now()
			letters := map[string]int{}
			for k := range times {
				came, err := fetch(cmd.Context(), from, bytes, patience, within)
				if err != nil {
					return fmt.Errorf("connection %d of %d: %w", k+1, times, err)
				}
				letters[string(rune(came))]++
			}
			took, all := time.Since(start), bytes*int64(times)
			fmt.Fprintf(cmd.OutOrStdout(), "%d bytes in %s: %.1f Mbit/s %v\n", all, took.Round(time.Millisecond), float64(all)*8/1e6/took.Seconds(), letters)
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

// fetch has all bytes come by one connection, and tells of which letter they are.
func fetch(ctx context.Context, from string, bytes int64, patience, within time.Duration) (letter, error) {
	var came letter
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp4", from)
	if err != nil {
		return came, err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, bytes); err != nil {
		return came, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return came, err
	}
	n, err := io.Copy(&came, conn)
	if err == nil && n != bytes {
		err = errors.New("the stream ended early")
	}
	if err != nil {
		return came, fmt.Errorf("%d of %d bytes: %w", n, bytes, err)
	}
	return came, nil
}

// letter takes bytes, and keeps the last one of them.
type letter byte

func (l *letter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		*l = letter(p[len(p)-1])
	}
	return len(p), nil
}
