package main

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
)

func newFlows() *cobra.Command {
	var to string
	var count int
	cmd := &cobra.Command{
		Use:   "flows",
		Short: "Send one datagram from each of many ports: a NAPT makes a session for each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for range count {
				conn, err := net.Dial("udp4", to)
				if err != nil {
					return err
				}
				// Held until all have their port, so that none gets one twice.
				defer conn.Close()
				if _, err := fmt.Fprintln(conn, "hello"); err != nil {
					return err
				}
				time.Sleep(time.Millisecond) // what a device takes in one go is bounded
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "address that sends datagrams back")
	flags.IntVar(&count, "count", 1000, "how many")
	return cmd
}
