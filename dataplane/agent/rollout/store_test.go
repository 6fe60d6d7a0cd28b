package rollout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

func TestTheStoreKeepsTheCurrentProgramAndTheGoodOneBefore(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "programs")}
	if p, err := s.Current(); p != nil || err != nil {
		t.Fatalf("an empty store has %v, %v", p, err)
	}
	a, b, c := agenttest.Program(t, "a", "in"), agenttest.Program(t, "b", "in"), agenttest.Program(t, "c", "in")
	for _, step := range []struct {
		save              *delivery.Program
		good              bool
		current, previous *delivery.Program
	}{
		{a, true, a, nil},
		{a, true, a, nil},
		{b, true, b, a},
		{c, false, c, a}, // b had not proved good
	} {
		if err := s.Save(step.save, step.good); err != nil {
			t.Fatal(err)
		}
		stored(t, s, step.current, step.previous)
	}
	if err := s.Revert(); err != nil {
		t.Fatal(err)
	}
	stored(t, s, a, a)
	if files, _ := filepath.Glob(filepath.Join(s.Dir, "*.pb")); len(files) != 1 {
		t.Errorf("left over: %v", files)
	}
}

func stored(t *testing.T, s *Store, current, previous *delivery.Program) {
	t.Helper()
	for name, c := range map[string]struct {
		read func() (*delivery.Program, error)
		want *delivery.Program
	}{"current": {s.Current, current}, "previous": {s.Previous, previous}} {
		got, err := c.read()
		if err != nil || (got == nil) != (c.want == nil) || got != nil && got.Hash != c.want.Hash {
			t.Errorf("%s program: got %v (%v), want %v", name, got, err, c.want)
		}
	}
}

func TestAProgramThatWasDamagedOnDiskIsNotUsed(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	p := agenttest.Program(t, "a", "in")
	if err := s.Save(p, true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, p.Hash+suffix), p.Encoded[:len(p.Encoded)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Current(); got != nil || err == nil || !strings.Contains(err.Error(), "damaged or mixed up") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTheStoreSaysWhatKeepsItFromTakingBack(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	if err := s.Revert(); err == nil {
		t.Error("nothing was there, and was taken back")
	}
}
