package cluster

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"time"
)

// archive is a compressed tar file.
type archive struct {
	zip *gzip.Writer
	tar *tar.Writer
	now time.Time
}

func newArchive(w io.Writer, now time.Time) *archive {
	z := gzip.NewWriter(w)
	return &archive{zip: z, tar: tar.NewWriter(z), now: now}
}

// add adds a file.
func (a *archive) add(name string, content []byte) error {
	err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: a.now})
	if err != nil {
		return err
	}
	_, err = a.tar.Write(content)
	return err
}

// close writes what is left.
func (a *archive) close() error { return errors.Join(a.tar.Close(), a.zip.Close()) }
