package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

const (
	// maxFrame is the longest frame that is sent or printed.
	maxFrame = 2048
	// lookUp is how long the receiver waits for a frame before it looks whether the input has ended.
	lookUp = 200 * time.Millisecond
	// idleFor ends a pod that nobody deletes.
	idleFor = 15 * time.Minute
)

// runWire makes this process the end of an interface: it sends what it reads, and prints what it receives.
func runWire(args []string, in io.Reader, out io.Writer) error {
	var name string
	flags := pflag.NewFlagSet("sinter-smoke wire", pflag.ContinueOnError)
	flags.StringVar(&name, "interface", "net1", "interface whose frames are read and printed as lines in hex")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	w, err := openWire(name)
	if err != nil {
		return fmt.Errorf("--interface %q: %w", name, err)
	}
	defer unix.Close(w.fd)
	return w.run(in, out)
}

// wire is a raw socket on an interface.
type wire struct {
	fd  int
	mac net.HardwareAddr
}

func openWire(name string) (_ *wire, err error) {
	device, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	if len(device.HardwareAddr) != 6 {
		return nil, fmt.Errorf("its address is %q; want an Ethernet interface", device.HardwareAddr)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("raw socket, which takes the capability NET_RAW: %w", err)
	}
	patience := unix.NsecToTimeval(int64(lookUp))
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: device.Index})
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &wire{fd: fd, mac: device.HardwareAddr}, nil
}

// run prints the interface's address, then works until the input ends or something fails.
func (w *wire) run(in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, w.mac); err != nil {
		return err
	}
	over := make(chan struct{})
	received, sent := make(chan error, 1), make(chan error, 1)
	go func() { received <- w.receive(out, over) }()
	go func() { sent <- w.send(in) }() // a reader that waits for input cannot be stopped: the end of the process ends it
	select {
	case err := <-received:
		return err
	case err := <-sent:
		close(over)
		return errors.Join(err, <-received)
	}
}

// send sends each line of the input.
func (w *wire) send(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		frame, err := hex.DecodeString(text)
		if err != nil {
			return fmt.Errorf("line %d: %w; want a frame as hexadecimal digits", n, err)
		}
		if len(frame) > maxFrame {
			return fmt.Errorf("line %d: a frame of %d bytes; want %d at most", n, len(frame), maxFrame)
		}
		if _, err := unix.Write(w.fd, frame); err != nil {
			return fmt.Errorf("line %d: send: %w", n, err)
		}
	}
	return lines.Err()
}

// receive prints frames until over is closed. Their VLAN tags are left out, as the kernel takes them off.
func (w *wire) receive(out io.Writer, over <-chan struct{}) error {
	buffer := make([]byte, maxFrame)
	for {
		n, from, err := unix.Recvfrom(w.fd, buffer, unix.MSG_TRUNC)
		select {
		case <-over:
			return nil
		default:
		}
		switch link, ok := from.(*unix.SockaddrLinklayer); {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		case n > maxFrame, ok && link.Pkttype == unix.PACKET_OUTGOING:
		default:
			if _, err := fmt.Fprintf(out, "%x\n", buffer[:n]); err != nil {
				return err
			}
		}
	}
}

// idle keeps a pod there for whoever runs commands in it.
func idle(ctx context.Context, patience time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return nil
}

// subcommand runs the one that the arguments name; ok is false if they name none.
func subcommand(ctx context.Context, args []string) (ok bool, err error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return false, nil
	}
	switch args[0] {
	case "wire":
		return true, runWire(args[1:], os.Stdin, os.Stdout)
	case "idle":
		return true, idle(ctx, idleFor)
	}
	return true, fmt.Errorf("there is no command %q; want wire, idle, or flags alone to check an installation", args[0])
}
