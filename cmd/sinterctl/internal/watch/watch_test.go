package watch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// told tells whether a change is reported within the time.
func told(f *Files, within time.Duration) bool {
	select {
	case <-f.Changed:
		return true
	case <-time.After(within):
		return false
	}
}

func TestChangesInQuickSuccessionAreToldOnceAndOnlyOfWatchedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := make(chan fsnotify.Event)
		writing := true
		f := &Files{Changed: make(chan Reading, 1), set: make(chan watched), writing: func(string) bool { return writing }}
		go f.loop(ctx, events, nil)
		f.set <- watched{files: map[string]bool{"/chain.yaml": true}}

		events <- fsnotify.Event{Name: "/other.yaml", Op: fsnotify.Write}
		events <- fsnotify.Event{Name: "/chain.yaml", Op: fsnotify.Chmod}
		if told(f, time.Hour) {
			t.Error("a change was told that is none of a watched file's content")
		}
		for range 5 {
			events <- fsnotify.Event{Name: "/chain.yaml", Op: fsnotify.Write}
			time.Sleep(Quiet - time.Millisecond)
		}
		if !told(f, Quiet) {
			t.Error("a change of the chain was not told as soon as the file rested")
		}
		if told(f, time.Hour) {
			t.Error("changes in quick succession were told twice")
		}
		writing = false
		events <- fsnotify.Event{Name: "/chain.yaml", Op: fsnotify.Write}
		if !told(f, settle+time.Millisecond) {
			t.Error("a change that is complete was not told at once")
		}
	})
}

func TestAFileStaysWatchedWhenItIsReplaced(t *testing.T) {
	dir := t.TempDir()
	chain, other := filepath.Join(dir, "chain.yaml"), filepath.Join(dir, "other.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(chain, "a")
	f, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(t.Context(), []string{chain}, Begin(chain)); err != nil {
		t.Fatal(err)
	}
	const patience = 10 * time.Second
	write(chain, "b")
	if !told(f, patience) {
		t.Fatal("a change of the chain was not told")
	}
	write(other, "c")
	if err := os.Rename(other, chain); err != nil {
		t.Fatal(err)
	}
	if !told(f, patience) {
		t.Fatal("a chain that was replaced by a rename was not told")
	}
	write(chain, "d")
	if !told(f, patience) {
		t.Fatal("a change after a rename was not told")
	}
}

func TestAFileIsCompleteWhenNobodyHasItOpenForWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chain.yaml")
	writer, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if !isWritten(path) {
		t.Error("a file that is open for writing counts as complete")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if isWritten(path) {
		t.Error("a file that was closed counts as being written")
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if isWritten(path) || isWritten(path+".none") {
		t.Error("a file that others read, or that is not there, counts as being written")
	}
}

func TestAFileThatChangedBetweenItsReadingAndTheWatchIsTold(t *testing.T) {
	chain, late := filepath.Join(t.TempDir(), "chain.yaml"), filepath.Join(t.TempDir(), "rules", "late.csv")
	if err := os.WriteFile(chain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * clockTick)
	read := Begin()
	f, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if torn, err := f.Set(t.Context(), []string{chain, late}, read); err != nil || len(torn) > 0 {
		t.Fatalf("changed since they were read: %q (%v); want none", torn, err)
	}
	if told(f, 2*Quiet) {
		t.Error("a change was told, and there was none")
	}
	time.Sleep(clockTick)
	read = Begin()
	if err := os.Mkdir(filepath.Dir(late), 0o700); err != nil { // tells by itself
		t.Fatal(err)
	}
	if !told(f, 10*time.Second) {
		t.Error("that a folder came was not told")
	}
	if err := os.WriteFile(late, nil, 0o600); err != nil { // in a folder that is not watched yet
		t.Fatal(err)
	}
	if torn, err := f.Set(t.Context(), []string{chain, late}, read); err != nil || !slices.Equal(torn, []string{late}) {
		t.Fatalf("changed since they were read: %q (%v); want %q", torn, err, late)
	}
	if !told(f, 10*time.Second) {
		t.Error("a file that came before its folder was watched was not told")
	}
}

func TestAFileThatChangedWhileItWasReadIsToldAndNotAgainWhenItIsRead(t *testing.T) {
	chain, replaced, kept := filepath.Join(t.TempDir(), "chain.yaml"), filepath.Join(t.TempDir(), "acl.csv"), filepath.Join(t.TempDir(), "none.csv")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(chain, "a")
	write(replaced, "a")
	all := []string{chain, replaced, kept}
	f, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(t.Context(), all, Begin(all...)); err != nil {
		t.Fatal(err)
	}
	for told(f, 2*Quiet) { // that they were written just before they were watched
	}

	read := Begin(all...)
	write(chain, "b") // of the same size
	write(replaced+".new", "a")
	if err := os.Rename(replaced+".new", replaced); err != nil {
		t.Fatal(err)
	}
	if torn, err := f.Set(t.Context(), all, read); err != nil || !slices.Equal(torn, slices.Sorted(slices.Values([]string{chain, replaced}))) {
		t.Errorf("changed while they were read: %q (%v); want %q", torn, err, all[:2])
	}
	select {
	case read = <-f.Changed:
	case <-time.After(10 * time.Second):
		t.Fatal("a change of what was read is not told")
	}
	for late := true; late; { // on a busy machine, events of the same changes come after Set has had them told
		select {
		case read = <-f.Changed:
		case <-time.After(2 * Quiet):
			late = false
		}
	}

	if err := os.Chmod(chain, 0o644); err != nil { // which changes no content
		t.Fatal(err)
	}
	if torn, err := f.Set(t.Context(), all, read); err != nil || len(torn) > 0 {
		t.Errorf("changed since they rested: %q (%v); want none", torn, err)
	}
	if told(f, 2*Quiet) {
		t.Error("a change is told again that was read")
	}
}
