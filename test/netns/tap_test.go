package netns

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// tap collects what comes in by a device.
type tap struct {
	end    chan struct{}
	frames chan [][]byte

	once sync.Once
	all  [][]byte
}

func startTap(t *testing.T, s *lab.Space, device string) *tap {
	t.Helper()
	w := s.Wire(t, device, lab.LargeSlot)
	p := &tap{end: make(chan struct{}), frames: make(chan [][]byte, 1)}
	go p.run(w)
	t.Cleanup(p.finish) // the wire's memory goes behind it
	return p
}

func (p *tap) run(w *lab.Wire) {
	var all [][]byte
	for ended := false; ; {
		frames := w.Poll()
		for _, f := range frames {
			all = append(all, append([]byte(nil), f...))
		}
		if len(frames) > 0 {
			continue
		}
		if ended {
			p.frames <- all
			return
		}
		select {
		case <-p.end:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// finish ends the collection, once.
func (p *tap) finish() {
	p.once.Do(func() {
		close(p.end)
		p.all = <-p.frames
	})
}

// stop ends the collection, and returns it.
func (p *tap) stop() [][]byte {
	p.finish()
	return p.all
}

func address(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a)))
}

// number is an address as package packets has it.
func number(a string) uint32 {
	b := netip.MustParseAddr(a).As4()
	return binary.BigEndian.Uint32(b[:])
}

// pendingError is an error that has come in for a socket (SO_ERROR), without waiting for one.
func pendingError(c *client) error {
	raw, err := c.Conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		return err
	}
	var pending int
	if e := raw.Control(func(fd uintptr) {
		pending, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	}); e != nil {
		return e
	}
	if err == nil && pending != 0 {
		err = unix.Errno(pending)
	}
	return err
}
