package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newBridge() *cobra.Command {
	return &cobra.Command{
		Use: "bridge INTERFACE INTERFACE", Short: "Forward frames between two interfaces as they are: a function of somebody else's", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return bridge(c.Context(), args[0], args[1]) },
	}
}

// bridge runs until its context ends, or an interface goes.
func bridge(ctx context.Context, a, b string) error {
	var sides [2]int
	for i, name := range []string{a, b} {
		fd, err := tap(name)
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		defer unix.Close(fd)
		sides[i] = fd
	}
	failed := make(chan error, 2)
	for i, name := range []string{a, b} {
		go func() { failed <- fmt.Errorf("from %s: %w", name, forward(sides[i], sides[1-i])) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// tap is a socket that has all frames that come in by an interface, to whomever they are sent, and sends by it.
func tap(name string) (fd int, err error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return -1, err
	}
	const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8 // in network order
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	if err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return -1, err
	}
	promiscuous := &unix.PacketMreq{Ifindex: int32(link.Index), Type: unix.PACKET_MR_PROMISC}
	if err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, promiscuous); err != nil {
		return -1, err
	}
	return fd, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
}

// forward sends what comes in by one socket out by another. A frame that the other has no room for is lost, as on any wire.
func forward(from, to int) error {
	frame := make([]byte, 64<<10)
	for {
		n, err := unix.Read(from, frame)
		switch {
		case err == unix.EINTR || err == unix.ENETDOWN:
			continue
		case err != nil:
			return err
		}
		_, _ = unix.Write(to, frame[:n])
	}
}
