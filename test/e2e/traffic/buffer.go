package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// bufferBytes hold some seconds of datagrams: the ends of a chain must not lose what the chain let pass.
const bufferBytes = 16 << 20

// deepBuffers enlarges a socket's buffers beyond what the system allows others, where it may (NET_ADMIN).
func deepBuffers(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) {
		for _, option := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option[0], bufferBytes) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option[1], bufferBytes)
			}
		}
	})
}
