package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestChangesAreToldOnceAndOnlyOfWatchedFiles(t *testing.T) {
	dir := t.TempDir()
	chain, other := filepath.Join(dir, "chain.yaml"), filepath.Join(dir, "other.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(chain, "a")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f, err := New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Set(ctx, []string{chain}); err != nil {
		t.Fatal(err)
	}
	told := func(within time.Duration) bool {
		select {
		case <-f.Changed:
			return true
		case <-time.After(within):
			return false
		}
	}

	write(other, "x")
	if told(4 * Quiet) {
		t.Error("a change of a file that is not watched was told")
	}
	for range 5 {
		write(chain, "b")
	}
	if !told(5 * time.Second) {
		t.Fatal("a change of the chain was not told")
	}
	if told(4 * Quiet) {
		t.Error("changes in quick succession were told twice")
	}
	write(other, "c")
	if err := os.Rename(other, chain); err != nil {
		t.Fatal(err)
	}
	if !told(5 * time.Second) {
		t.Error("a chain that was replaced by a rename was not told")
	}
	write(chain, "d")
	if !told(5 * time.Second) {
		t.Error("a change after a rename was not told")
	}
}
