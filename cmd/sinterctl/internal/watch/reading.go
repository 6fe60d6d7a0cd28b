package watch

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Reading is how files stood when somebody began to read them.
type Reading struct {
	began  time.Time
	stamps map[string]stamp // by absolute path
}

// stamp is what a write changes of a file, and a rename to its name. Rights and owners are not in it: they change no content.
type stamp struct {
	device, inode uint64
	size          int64
	written       unix.Timespec
}

// Begin begins a reading of files, be they there or not.
func Begin(paths ...string) Reading {
	r := Reading{began: time.Now(), stamps: map[string]stamp{}}
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil {
			r.stamps[abs] = stampOf(abs)
		}
	}
	return r
}

// stampOf is a file's stamp; that of a file which is not there is zero.
func stampOf(path string) stamp {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return stamp{}
	}
	return stamp{device: s.Dev, inode: s.Ino, size: s.Size, written: s.Mtim}
}

// Torn are those of the files that have changed since the reading began, by their absolute paths: perhaps half of the old content was read,
// or half of the new one. Of a file that the reading did not begin with, Torn says nothing.
func (r Reading) Torn(paths []string) []string {
	var torn []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			continue
		}
		if before, ok := r.stamps[abs]; ok && before != stampOf(abs) {
			torn = append(torn, abs)
		}
	}
	return torn
}
