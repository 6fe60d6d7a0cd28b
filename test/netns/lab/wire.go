package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/packets"
)

// Batch is how many frames go out with one system call at most, and come from one Poll.
const Batch = 64

// The receive ring: frames wait there in any number, cost no system call, and are copies, whatever memory their
// sender uses again meanwhile.
const (
	ringBytes  = 64 << 20
	blockBytes = 1 << 20
)

// Wire is a raw socket on a device: it sends frames, and reads all those that come in. Not for
// concurrent use.
type Wire struct {
	MAC packets.MAC // of the device

	fd   int
	out  [Batch]mmsghdr
	outv [Batch]unix.Iovec

	ring  []byte
	slot  int // bytes of a ring's frame
	next  int // where the next frame will be
	given int // frames that the last Poll returned, to be given back
	in    [Batch][]byte
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// Slot sizes of a Wire: the longest frame that it reads whole is shorter by a header of 96 bytes. Small
// slots hold out longer.
const (
	SmallSlot = 256
	LargeSlot = 2048
)

// Wire opens a raw socket on one of the namespace's devices.
func (s *Space) Wire(t testing.TB, device string, slot int) *Wire {
	t.Helper()
	w := In(t, s, func() (*Wire, error) { return openWire(device, slot) })
	t.Cleanup(func() { _ = errors.Join(unix.Munmap(w.ring), unix.Close(w.fd)) })
	return w
}

func openWire(device string, slot int) (_ *Wire, err error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("raw socket on %s: %w", device, err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
			err = fmt.Errorf("raw socket on %s: %w", device, err)
		}
	}()
	w := &Wire{MAC: packets.MAC(i.HardwareAddr), fd: fd, slot: slot}
	for n := range Batch {
		w.out[n].hdr.Iov = &w.outv[n]
		w.out[n].hdr.SetIovlen(1)
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
		unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{
			Block_size: blockBytes, Block_nr: ringBytes / blockBytes,
			Frame_size: uint32(slot), Frame_nr: uint32(ringBytes / slot),
		}))
	if err != nil {
		return nil, err
	}
	if w.ring, err = unix.Mmap(fd, 0, ringBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	return w, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index})
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
func (w *Wire) Poll() [][]byte {
	for range w.given {
		atomic.StoreUint32(&w.header(w.next-w.given).Status, unix.TP_STATUS_KERNEL)
		w.given--
	}
	for w.given < Batch {
		h := w.header(w.next)
		if atomic.LoadUint32(&h.Status)&unix.TP_STATUS_USER == 0 {
			break
		}
		frame := w.ring[w.at(w.next)+int(h.Mac):]
		w.in[w.given] = withTag(h, frame[:h.Snaplen:h.Snaplen])
		w.given++
		w.next++
	}
	return w.in[:w.given]
}

// withTag puts the VLAN tag back that the kernel has taken out of a frame and keeps beside it.
func withTag(h *unix.Tpacket2Hdr, frame []byte) []byte {
	if h.Status&unix.TP_STATUS_VLAN_VALID == 0 || len(frame) < 12 {
		return frame
	}
	tpid := uint16(packets.TPID8021Q)
	if h.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = h.Vlan_tpid
	}
	tagged := append(make([]byte, 0, len(frame)+4), frame[:12]...)
	tagged = binary.BigEndian.AppendUint16(tagged, tpid)
	tagged = binary.BigEndian.AppendUint16(tagged, h.Vlan_tci)
	return append(tagged, frame[12:]...)
}

// at is where the ring's n-th frame begins, counted from the first that ever came.
func (w *Wire) at(n int) int { return n % (ringBytes / w.slot) * w.slot }

func (w *Wire) header(n int) *unix.Tpacket2Hdr {
	return (*unix.Tpacket2Hdr)(unsafe.Pointer(&w.ring[w.at(n)]))
}

// Wait reads frames until want takes one, and returns a copy of it.
func (w *Wire) Wait(t testing.TB, what string, want func(frame []byte) bool) []byte {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, 100); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(os.NewSyscallError("poll", err))
		}
		for _, f := range w.Poll() {
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
