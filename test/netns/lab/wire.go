package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/packets"
)

// Sizes of a Wire. Frames that nobody has read yet are kept by the kernel up to rcvBuffer.
const (
	Batch     = 64 // frames per system call
	maxFrame  = 2048
	rcvBuffer = 256 << 20
)

// Wire is a raw socket on a device: it sends frames, and reads all those that come in. Not for
// concurrent use.
type Wire struct {
	MAC packets.MAC // of the device

	fd       int
	out, in  [Batch]mmsghdr
	outv     [Batch]unix.Iovec
	inv      [Batch]unix.Iovec
	received [Batch][]byte
	room     []byte
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// Wire opens a raw socket on one of the namespace's devices.
func (s *Space) Wire(t testing.TB, device string) *Wire {
	t.Helper()
	w := In(t, s, func() (*Wire, error) { return openWire(device) })
	t.Cleanup(func() { _ = unix.Close(w.fd) })
	return w
}

func openWire(device string) (*Wire, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("raw socket on %s: %w", device, err)
	}
	w := &Wire{MAC: packets.MAC(i.HardwareAddr), fd: fd, room: make([]byte, Batch*maxFrame)}
	for n := range Batch {
		w.received[n] = w.room[n*maxFrame : (n+1)*maxFrame]
		w.inv[n].Base = &w.received[n][0]
		w.inv[n].SetLen(maxFrame)
		w.in[n].hdr.Iov, w.out[n].hdr.Iov = &w.inv[n], &w.outv[n]
		w.in[n].hdr.SetIovlen(1)
		w.out[n].hdr.SetIovlen(1)
	}
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, rcvBuffer),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}))
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("raw socket on %s: %w", device, err)
	}
	return w, nil
}

// Send sends frames, Batch at most.
func (w *Wire) Send(frames ...[]byte) error {
	for n, f := range frames {
		w.outv[n].Base = &f[0]
		w.outv[n].SetLen(len(f))
	}
	for done := 0; done < len(frames); {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(w.fd),
			uintptr(unsafe.Pointer(&w.out[done])), uintptr(len(frames)-done), 0, 0, 0)
		switch errno {
		case 0:
			done += int(n)
		case unix.EAGAIN, unix.ENOBUFS, unix.EINTR: // once more
		default:
			return os.NewSyscallError("sendmmsg", errno)
		}
	}
	return nil
}

// Poll returns the frames that have come in, Batch at most, without waiting. They are valid until
// the next call.
func (w *Wire) Poll() ([][]byte, error) {
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(w.fd), uintptr(unsafe.Pointer(&w.in[0])), Batch, 0, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR:
		return nil, nil
	default:
		return nil, os.NewSyscallError("recvmmsg", errno)
	}
	for i := range n {
		w.received[i] = w.room[i*maxFrame:][:w.in[i].len]
	}
	return w.received[:n], nil
}

// Wait reads frames until want takes one, and returns a copy of it.
func (w *Wire) Wait(t testing.TB, what string, want func(frame []byte) bool) []byte {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, 100); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(os.NewSyscallError("poll", err))
		}
		frames, err := w.Poll()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			if want(f) {
				return append([]byte(nil), f...)
			}
		}
	}
	t.Fatalf("%s did not come within %s", what, Patience)
	return nil
}

// Overflow is how many frames were lost here, on the wire's own socket, since the last call.
func (w *Wire) Overflow(t testing.TB) uint32 {
	t.Helper()
	s, err := unix.GetsockoptTpacketStats(w.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		t.Fatal(os.NewSyscallError("getsockopt", err))
	}
	return s.Drops
}
