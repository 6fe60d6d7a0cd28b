// Package watch tells when files have changed.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// Quiet is how long a file that somebody has open for writing must rest before a change is reported: editors write in several steps, and on a busy machine
// a writer may stand still between two of them. Nobody waits for it once the file is closed.
const Quiet = 500 * time.Millisecond

// settle is how long files must rest that nobody writes any more: changes of several files often follow each other closely.
const settle = time.Millisecond

// Files watches a set of files by their folders, so that files which are
// replaced by a rename, as editors do, stay watched.
type Files struct {
	// Changed receives after a change, once for changes that follow each other closely: a reading that begins when nobody writes the files any more.
	Changed chan Reading

	watcher *fsnotify.Watcher
	known   map[string]bool // the files last set, whose changes are told since
	set     chan watched
	writing func(path string) bool // whether somebody has the file open for writing
}

type watched struct {
	files map[string]bool
	stale []string // those that have changed since they were read
}

// clockTick is how far a file's time of change may lie behind the clock: file systems take it from the last tick.
const clockTick = 10 * time.Millisecond

// New starts watching, nothing yet. It ends with the context.
func New(ctx context.Context) (*Files, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	f := &Files{Changed: make(chan Reading, 1), watcher: w, set: make(chan watched), writing: isWritten}
	go func() {
		defer w.Close()
		f.loop(ctx, w.Events, w.Errors)
	}()
	return f, nil
}

// Set says which files to watch from now on, be they there or not. It returns those that changed since the reading of them began, by their
// absolute paths: what was read of them is not to be used, and their change is told. Set is not to be called after the end of the context, nor
// concurrently with itself or with whoever receives from Changed.
func (f *Files) Set(ctx context.Context, paths []string, read Reading) (torn []string, err error) {
	files := map[string]bool{}
	var unseen, folders []string // nobody has watched them so far
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", p, err)
		}
		files[abs] = true
		dir := filepath.Dir(abs)
		if !f.known[abs] || !slices.Contains(f.watcher.WatchList(), dir) {
			unseen = append(unseen, abs)
		}
		for err = f.watcher.Add(dir); errors.Is(err, fs.ErrNotExist); err = f.watcher.Add(dir) {
			files[dir] = true // it may come
			folders = append(folders, dir)
			dir = filepath.Dir(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	f.known = files
	early := func(path string) bool { return !changedSince(path, read.began.Add(-clockTick)) }
	torn = slices.Compact(slices.Sorted(slices.Values(slices.Concat(read.Torn(paths), slices.DeleteFunc(unseen, early)))))
	stale := slices.Concat(torn, slices.DeleteFunc(folders, early))
	if len(stale) > 0 {
		select {
		case <-f.Changed: // it is told once, when the files rest
		default:
		}
	}
	select {
	case f.set <- watched{files, stale}:
	case <-ctx.Done():
	}
	return torn, nil
}

// changedSince tells whether a file's content or name changed after the time; a file that is not there has not.
func changedSince(path string, since time.Time) bool {
	var s unix.Stat_t
	return unix.Stat(path, &s) == nil && time.Unix(s.Ctim.Unix()).After(since)
}

func (f *Files) loop(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	var files map[string]bool
	var last time.Time           // of the changes that are not told yet
	pending := map[string]bool{} // their files
	rest := time.NewTimer(0)
	<-rest.C
	changed := func(path string) {
		pending[path], last = true, time.Now()
		rest.Reset(settle)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-f.set:
			files = now.files
			for _, path := range now.stale {
				changed(path)
			}
		case e, ok := <-events:
			if !ok {
				return
			}
			if files[e.Name] && !e.Has(fsnotify.Chmod) {
				changed(e.Name)
			}
		case _, ok := <-errs:
			if !ok {
				return
			}
			changed("") // events may be lost: look
		case <-rest.C:
			read := Begin(slices.Collect(maps.Keys(files))...) // before it is known that nobody writes them
			if time.Since(last) < Quiet && slices.ContainsFunc(slices.Collect(maps.Keys(pending)), f.writing) {
				rest.Reset(settle)
				continue
			}
			clear(pending)
			select {
			case <-f.Changed: // an earlier one, which nobody has begun to use
			default:
			}
			f.Changed <- read
		}
	}
}

// isWritten tells whether somebody has a file open for writing, as far as its file system tells: nobody gets a read lease on it then.
// It takes the owner of the file, or CAP_LEASE; where there are no leases, every file counts as written.
func isWritten(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false // there is nothing to wait for
	}
	defer file.Close() // which gives the lease back
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return err != nil
}
