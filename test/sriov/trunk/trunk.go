// Package trunk is the other end of a card's cable: a switch whose ports are namespaces, each in a VLAN of its own.
//
// It is built from TAP devices and a socket, so that it asks nothing of the machine's kernel but those.
package trunk

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/netns/lab"
	"github.com/sinter-nfv/sinter/test/packets"
)

// The sockets of QEMU's end and this one, in the guest's folder (hack/sriov/node.sh).
const (
	cardSocket = "wire.sock"
	ownSocket  = "trunk.sock"
)

// Trunk is the cable's end. Its methods may be called concurrently.
type Trunk struct {
	socket *net.UnixConn
	card   *net.UnixAddr

	mu      sync.Mutex
	ports   map[uint16]*os.File // by VLAN
	watcher func(frame)
}

// frame is a frame that the card sent.
type frame struct {
	from packets.MAC
	vlan uint16 // 0: untagged
}

// Open takes hold of the cable of the guest in this folder, until the test ends.
func Open(t testing.TB, guest string) *Trunk {
	t.Helper()
	own := filepath.Join(guest, ownSocket)
	_ = os.Remove(own) // of a test that was killed
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	k := &Trunk{
		socket: socket,
		card:   &net.UnixAddr{Name: filepath.Join(guest, cardSocket), Net: "unixgram"},
		ports:  map[uint16]*os.File{},
	}
	go k.fromCard()
	t.Cleanup(func() { _ = socket.Close(); _ = os.Remove(own) })
	return k
}

// Join gives a namespace a device in a VLAN of the cable, until the test ends.
func (k *Trunk) Join(t testing.TB, s *lab.Space, vlan uint16, device, address string) {
	t.Helper()
	tap := lab.In(t, s, func() (*os.File, error) { return openTAP(device) })
	k.mu.Lock()
	k.ports[vlan] = tap
	k.mu.Unlock()
	go k.fromPort(tap, vlan)
	t.Cleanup(func() {
		k.mu.Lock()
		delete(k.ports, vlan)
		k.mu.Unlock()
		_ = tap.Close()
	})
	s.Run(t, "ip", "address", "add", address, "dev", device)
	s.Run(t, "ip", "link", "set", device, "up")
}

// openTAP makes a TAP device in the namespace of the calling thread.
func openTAP(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(request)))
		if errno != 0 {
			err = os.NewSyscallError("TUNSETIFF", errno)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("TAP device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (k *Trunk) watch(see func(frame)) {
	k.mu.Lock()
	k.watcher = see
	k.mu.Unlock()
}

// Senders tells in which VLANs each address sends while something is done.
func (k *Trunk) Senders(t testing.TB, do func()) map[packets.MAC][]uint16 {
	t.Helper()
	var mu sync.Mutex
	seen := map[packets.MAC][]uint16{}
	k.watch(func(f frame) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(seen[f.from], f.vlan) {
			seen[f.from] = append(seen[f.from], f.vlan)
		}
	})
	do()
	k.watch(nil)
	return seen
}

// Send sends a frame to the card.
func (k *Trunk) Send(t testing.TB, frame []byte) {
	t.Helper()
	if _, err := k.socket.WriteToUnix(frame, k.card); err != nil {
		t.Fatal(err)
	}
}

// tagged is where a frame's type or tag begins.
const tagged = 12

func (k *Trunk) fromCard() {
	buf := make([]byte, 1<<16)
	for {
		n, err := k.socket.Read(buf)
		if err != nil {
			return
		}
		k.deliver(buf[:n])
	}
}

func (k *Trunk) deliver(data []byte) {
	if len(data) < tagged+6 {
		return
	}
	f := frame{from: packets.MAC(data[6:12])}
	if binary.BigEndian.Uint16(data[tagged:]) == packets.TPID8021Q {
		f.vlan = binary.BigEndian.Uint16(data[tagged+2:]) & 0xfff
		data = append(data[:tagged:tagged], data[tagged+4:]...)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watcher != nil {
		k.watcher(f)
	}
	if port := k.ports[f.vlan]; port != nil {
		_, _ = port.Write(data) // a device that is down loses it, as any
	}
}

func (k *Trunk) fromPort(tap *os.File, vlan uint16) {
	buf := make([]byte, 1<<16)
	for {
		n, err := tap.Read(buf)
		if err != nil {
			return
		}
		data := append(make([]byte, 0, n+4), buf[:tagged]...)
		if vlan != 0 {
			data = binary.BigEndian.AppendUint16(data, packets.TPID8021Q)
			data = binary.BigEndian.AppendUint16(data, vlan)
		}
		_, _ = k.socket.WriteToUnix(append(data, buf[tagged:n]...), k.card) // no guest, no cable
	}
}
