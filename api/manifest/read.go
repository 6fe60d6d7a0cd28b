package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFile bounds a file, be it a manifest or what one names: a full table of routes has 14 MB.
const maxFile = 64 << 20

// errOutside says that a manifest names a file which it may not read.
var errOutside = errors.New("lies outside the manifest's folder")

// fileReader reads what manifests name: files below their own folders, and below others if it is told so. A manifest may come from a stranger.
type fileReader struct {
	folders []string // further folders
}

// manifest reads a file that the user names.
func (fileReader) manifest(name string) ([]byte, error) {
	if fd, ok := stream(name); ok {
		return readStream(fd)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readRegular(f)
}

// named reads a file that a manifest in a folder names. Links lead nowhere else.
func (r fileReader) named(folder, name string) ([]byte, error) {
	for _, dir := range append([]string{folder}, r.folders...) {
		rel, err := below(dir, name)
		if err != nil {
			continue
		}
		f, err := openBelow(dir, rel)
		switch {
		case err == nil:
			return readRegular(f)
		case !escapes(err):
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w, %s, and is not read: to allow it, add --files-below %s", errOutside, folder, filepath.Dir(name))
}

// below is the file's name from the folder on, if it lies there by its name.
func below(folder, name string) (string, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, file)
	if err == nil && !filepath.IsLocal(rel) {
		err = errOutside
	}
	return rel, err
}

// openBelow opens a file of a folder, wherever links lead below that.
func openBelow(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// escapes tells the error of a link that leads out of a root. The standard library does not export it.
func escapes(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes from parent")
}

// readRegular reads a file and closes it. It was opened without waiting: a FIFO without a writer must not hold anybody up.
func readRegular(f *os.File) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is %s; want a regular file", modeOf(info.Mode()))
	}
	return readAll(f, info.Size())
}

// readAll reads what is not too large, perhaps of a known size.
func readAll(f *os.File, size int64) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(int(min(size, maxFile)) + bytes.MinRead) // tables are large, and read again with each change
	if _, err := data.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, err
	}
	if data.Len() > maxFile {
		return nil, fmt.Errorf("has more than %d MiB; want at most that, packed by gzip perhaps", maxFile>>20)
	}
	return data.Bytes(), nil
}

func modeOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}
