package doorway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The kernel refuses whom an agent does not want, before that costs the agent's processor time: a connection that is accepted to be refused costs some
// 40 µs, and an agent has 50 ms a second. Two sockets listen at one port (SO_REUSEPORT, socket(7)), and a program in classic BPF has the kernel take
// one of them for each new connection. Nobody accepts connections of the first one, whose backlog is full from the start, so that the kernel drops
// what begins one there. This needs no privilege. A filter of the socket (SO_ATTACH_FILTER) would be simpler, but for that, at TCP, kernels want CAP_NET_ADMIN since 2026.
const (
	// network is where the network header begins for a program (SKF_NET_OFF of linux/filter.h).
	network = 0xfff00000
	// maxRefused bounds the sources of a program, and so its length.
	maxRefused = 256
	// backlog is how many connections wait to be accepted. Those of strangers are before those of others.
	backlog = 128
	// fillTime is many times what the kernel takes for a connection of the pod to itself.
	fillTime = 250 * time.Millisecond
)

// The program's return values: which socket gets the connection, by the order in which they began to listen.
const (
	refuse = 0
	take   = 1
)

// steered are the two sockets at a port.
type steered struct {
	*net.TCPListener // takes
	refusing         net.Listener
	socket           syscall.RawConn // of one that takes
	by               []int           // interfaces by which connections are taken; none: all
}

// Listen listens for TCP, as Limit wants it. Connections by other interfaces than those with the given indexes the kernel refuses; none: all may be used.
func Listen(ctx context.Context, address string, by []int) (net.Listener, error) {
	refusing, _, err := listen(ctx, address, 0)
	if err != nil {
		return nil, err
	}
	s := &steered{refusing: refusing, by: by}
	if err := fill(ctx, refusing.Addr()); err != nil {
		_ = refusing.Close()
		return nil, fmt.Errorf("fill the backlog of the socket at %s that refuses: %w", refusing.Addr(), err)
	}
	if s.TCPListener, s.socket, err = listen(ctx, refusing.Addr().String(), backlog); err != nil {
		_ = refusing.Close()
		return nil, err
	}
	if err := s.steer(nil); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends both sockets.
func (s *steered) Close() error {
	_ = s.refusing.Close()
	return s.TCPListener.Close()
}

// steer has the kernel refuse connections of sources from now on, and take others.
func (s *steered) steer(sources []netip.Addr) error {
	code, err := refusing(s.by, sources)
	if err != nil {
		return fmt.Errorf("program for %d sources: %w", len(sources), err)
	}
	return control(s.socket, func(fd int) error { return attach(fd, code) })
}

// listen opens a socket of a group at an address. A group begins with its first socket, which gets all
// connections until it is steered. That one has its program before it is bound: so it joins no other group, and
// the kernel refuses it a port at which others listen, also another agent's sockets with SO_REUSEPORT
// (inet_csk_bind_conflict in Linux). Of agents that begin at once, too, one at most gets the port: the kernel
// looks again as they begin to listen. A socket of Multipath TCP, which is Go's default, takes no program.
func listen(ctx context.Context, address string, waiting int) (*net.TCPListener, syscall.RawConn, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	c.Control = func(_, _ string, socket syscall.RawConn) error {
		return control(socket, func(fd int) error {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
				return fmt.Errorf("SO_REUSEPORT: %w", err)
			}
			if waiting > 0 {
				return nil
			}
			return attach(fd, []bpf.RawInstruction{{Op: unix.BPF_RET, K: refuse}})
		})
	}
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	tcp := l.(*net.TCPListener)
	socket, err := tcp.SyscallConn()
	if err == nil {
		err = control(socket, func(fd int) error { return unix.Listen(fd, waiting) })
	}
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	return tcp, socket, nil
}

// fill begins the one connection for which a backlog of 0 has room. It stays there when its other end has gone. Nobody answers if another source was faster,
// whose connection stays there as well: the backlog is full.
func fill(ctx context.Context, at net.Addr) error {
	to := at.(*net.TCPAddr).AddrPort()
	host := to.Addr()
	if host.IsUnspecified() {
		host = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // an IPv6 socket for all takes it, too
	}
	c, err := (&net.Dialer{Timeout: fillTime}).DialContext(ctx, "tcp", net.JoinHostPort(host.String(), strconv.Itoa(int(to.Port()))))
	if err == nil {
		return c.Close()
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() && ctx.Err() == nil {
		return nil
	}
	return err
}

// facing is the part of a program that refuses what comes by other interfaces.
func facing(by []int) (code []bpf.Instruction) {
	if len(by) == 0 {
		return nil
	}
	code = append(code, bpf.LoadExtension{Num: bpf.ExtInterfaceIndex})
	for i, index := range by {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(index), SkipTrue: uint8(len(by) - i)})
	}
	return append(code, bpf.RetConstant{Val: refuse})
}

// refusing is a program that refuses what comes by other interfaces than those with the given indexes, if there are any, and connections of sources, IPv4
// addresses or the first addresses of an IPv6 /64.
func refusing(by []int, sources []netip.Addr) ([]bpf.RawInstruction, error) {
	v4, v6 := []bpf.Instruction{bpf.LoadAbsolute{Off: network + 12, Size: 4}}, []bpf.Instruction{}
	for _, a := range sources {
		if a.Is4() {
			b := a.As4()
			v4 = append(v4, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[:]), SkipFalse: 1}, bpf.RetConstant{Val: refuse})
			continue
		}
		b := a.As16()
		v6 = append(v6,
			bpf.LoadAbsolute{Off: network + 8, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[:]), SkipFalse: 3},
			bpf.LoadAbsolute{Off: network + 12, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[4:]), SkipFalse: 1},
			bpf.RetConstant{Val: refuse})
	}
	v4, v6 = append(v4, bpf.RetConstant{Val: take}), append(v6, bpf.RetConstant{Val: take})
	begin := []bpf.Instruction{
		bpf.LoadAbsolute{Off: network, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4}, // the version
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 4, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(v4))},
	}
	return bpf.Assemble(slices.Concat(facing(by), begin, v4, v6))
}

// attach has a program choose among the sockets of a group.
func attach(fd int, code []bpf.RawInstruction) error {
	list := make([]unix.SockFilter, len(code))
	for i, c := range code {
		list[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &program); err != nil {
		return fmt.Errorf("SO_ATTACH_REUSEPORT_CBPF: %w", err)
	}
	return nil
}

func control(socket syscall.RawConn, do func(fd int) error) (err error) {
	if outer := socket.Control(func(fd uintptr) { err = do(int(fd)) }); outer != nil {
		return outer
	}
	return err
}
