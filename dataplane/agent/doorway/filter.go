package doorway

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A filter of the socket has the kernel drop what a source sends, before it costs the agent's processor time: a connection that is accepted
// to be refused costs some 40 µs, and an agent has 50 ms a second. A socket filter (classic BPF, socket(7)) needs no privilege.

const (
	// network is where the network header begins for a filter (SKF_NET_OFF of linux/filter.h).
	network = 0xfff00000
	// maxFiltered bounds the sources of a filter, and so its length.
	maxFiltered = 256
	// backlog is how many connections wait to be accepted. Those of strangers are before those of others.
	backlog = 128
)

// dropping is a filter that drops what sources send, IPv4 addresses or the first addresses of an IPv6 /64.
func dropping(sources []netip.Addr) ([]bpf.RawInstruction, error) {
	const drop, all = 0, 1<<32 - 1
	v4, v6 := []bpf.Instruction{bpf.LoadAbsolute{Off: network + 12, Size: 4}}, []bpf.Instruction{}
	for _, a := range sources {
		if a.Is4() {
			b := a.As4()
			v4 = append(v4, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[:]), SkipFalse: 1}, bpf.RetConstant{Val: drop})
			continue
		}
		b := a.As16()
		v6 = append(v6,
			bpf.LoadAbsolute{Off: network + 8, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[:]), SkipFalse: 3},
			bpf.LoadAbsolute{Off: network + 12, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: binary.BigEndian.Uint32(b[4:]), SkipFalse: 1},
			bpf.RetConstant{Val: drop})
	}
	v4, v6 = append(v4, bpf.RetConstant{Val: all}), append(v6, bpf.RetConstant{Val: all})
	begin := []bpf.Instruction{
		bpf.LoadAbsolute{Off: network, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4}, // the version
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 4, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(v4))},
	}
	return bpf.Assemble(append(append(begin, v4...), v6...))
}

// filter has the kernel drop what sources send to a listening socket, and no other.
func filter(socket syscall.RawConn, sources []netip.Addr) error {
	code, err := dropping(sources)
	if err != nil {
		return fmt.Errorf("filter of %d sources: %w", len(sources), err)
	}
	list := make([]unix.SockFilter, len(code))
	for i, c := range code {
		list[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	return control(socket, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]})
	})
}

// shorten bounds the connections that wait to be accepted.
func shorten(socket syscall.RawConn) error {
	return control(socket, func(fd int) error { return unix.Listen(fd, backlog) })
}

func control(socket syscall.RawConn, do func(fd int) error) (err error) {
	if outer := socket.Control(func(fd uintptr) { err = do(int(fd)) }); outer != nil {
		return outer
	}
	return err
}
