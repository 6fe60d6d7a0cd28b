package manifest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// streams are manifests that this process was given open: standard input, and pipes of its shell. They can be read once only, so what
// was read is kept.
var streams = struct {
	sync.Mutex
	read map[int][]byte
}{read: map[int][]byte{}}

// stream is the file descriptor that a manifest's name stands for: "-" and /dev/stdin for standard input, /dev/fd/63 for what a shell
// makes of <(…).
func stream(name string) (fd int, ok bool) {
	switch name {
	case "-", "/dev/stdin":
		return 0, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if number, found := strings.CutPrefix(name, folder); found {
			n, err := strconv.ParseUint(number, 10, 31)
			return int(n), err == nil
		}
	}
	return 0, false
}

// readStream reads an open file to its end. It waits for who writes, as programs do that read standard input.
func readStream(fd int) ([]byte, error) {
	streams.Lock()
	defer streams.Unlock()
	if text, ok := streams.read[fd]; ok {
		return text, nil
	}
	own, err := syscall.Dup(fd)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	f := os.NewFile(uintptr(own), "stream")
	defer f.Close()
	text, err := readAll(f, 0)
	if err == nil {
		streams.read[fd] = text
	}
	return text, err
}

// folder is where a manifest's files lie: for a stream, where the program was started.
func folder(manifest string) string {
	if _, ok := stream(manifest); ok {
		return "."
	}
	return filepath.Dir(manifest)
}
