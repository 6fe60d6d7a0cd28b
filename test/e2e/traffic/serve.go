package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// maxDatagram is the largest datagram that is answered, in bytes.
const maxDatagram = 9000

func newServe() *cobra.Command {
	var udp, tcp, links []string
	var letter string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Send datagrams back, and bytes to whom asks for them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(letter) != 1 {
				return fmt.Errorf("--letter %q: want one", letter)
			}
			for _, link := range links {
				if err := completeChecksums(link); err != nil {
					return err
				}
			}
			group, ctx := errgroup.WithContext(cmd.Context())
			for _, address := range udp {
				group.Go(func() error { return echo(ctx, address) })
			}
			for _, address := range tcp {
				group.Go(func() error { return give(ctx, address, pattern(letter[0])) })
			}
			group.Go(func() error { <-ctx.Done(); return nil })
			return group.Wait()
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&udp, "udp", nil, "address of which datagrams are sent back")
	flags.StringArrayVar(&tcp, "tcp", nil, "address at which bytes can be fetched")
	flags.StringVar(&letter, "letter", "s", "what these bytes are: by it a client knows one server from another")
	flags.StringArrayVar(&links, "complete-checksums", nil, "interface whose packets leave with checksums computed and segments cut")
	return cmd
}

// echo sends each datagram back to where it came from.
func echo(ctx context.Context, address string) error {
	at, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp4", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := deepBuffers(conn); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			continue // an ICMP error for an answer of before
		}
		_, _ = conn.WriteTo(buffer[:n], from) // what is lost, the sender misses
	}
}

// give serves a stream to each that connects: as many bytes as the first line says.
func give(ctx context.Context, address string, letter pattern) error {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			var bytes int64
			if _, err := fmt.Fscanln(conn, &bytes); err == nil {
				_, _ = io.CopyN(conn, letter, bytes)
			}
		}()
	}
}

// pattern is an endless stream of one letter.
type pattern byte

func (letter pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(letter)
	}
	return len(p), nil
}
