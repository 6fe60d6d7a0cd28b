package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newBridge() *cobra.Command {
	return &cobra.Command{
		Use: "bridge INTERFACE INTERFACE", Short: "Forward frames between two interfaces as they are: a function of somebody else's; after SIGUSR1, with DSCP 46",
		Args: cobra.ExactArgs(2),
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
	var marks atomic.Bool
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGUSR1)
	go func() {
		for range told {
			marks.Store(true)
		}
	}()
	failed := make(chan error, 2)
	for i, name := range []string{a, b} {
		go func() { failed <- fmt.Errorf("from %s: %w", name, forward(sides[i], sides[1-i], &marks)) }()
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
func forward(from, to int, marks *atomic.Bool) error {
	frame := make([]byte, 64<<10)
	for {
		n, err := unix.Read(from, frame)
		switch {
		case err == unix.EINTR || err == unix.ENETDOWN:
			continue
		case err != nil:
			return err
		}
		if marks.Load() {
			mark(frame[:n])
		}
		_, _ = unix.Write(to, frame[:n])
	}
}

// mark sets DSCP 46 (RFC 3246) of an IPv4 packet.
func mark(frame []byte) {
	const ip, dscp = 14, 46
	if len(frame) < ip+20 || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_IP {
		return
	}
	was := binary.BigEndian.Uint16(frame[ip:])
	frame[ip+1] = frame[ip+1]&3 | dscp<<2
	sum := uint32(^binary.BigEndian.Uint16(frame[ip+10:])) + uint32(^was) + uint32(binary.BigEndian.Uint16(frame[ip:])) // RFC 1624, equation 3
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(frame[ip+10:], ^uint16(sum+sum>>16))
}
