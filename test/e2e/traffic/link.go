package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ifreq is what the kernel's SIOCETHTOOL takes.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// completeChecksums has an interface's packets leave as they would on a wire: checksums
// computed, segments cut. On a veth pair the kernel saves itself both, and a program that reads
// packets by a raw socket at the other end gets them undone.
func completeChecksums(link string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	for what, command := range map[string]uint32{
		"tx": unix.ETHTOOL_STXCSUM, "tso": unix.ETHTOOL_STSO, "gso": unix.ETHTOOL_SGSO,
	} {
		value := [2]uint32{command, 0}
		request := ifreq{data: unsafe.Pointer(&value)}
		copy(request.name[:unix.IFNAMSIZ-1], link)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&value)
		if errno != 0 && errno != unix.EOPNOTSUPP {
			return fmt.Errorf("interface %s: %s off: %w", link, what, errno)
		}
	}
	return nil
}
