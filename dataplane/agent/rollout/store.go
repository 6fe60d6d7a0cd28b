package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// Store keeps on disk the program that was loaded last and the one that ran before it, so that an engine gets its program
// back without the cluster. A program is a file named by its hash; the links `current` and `previous` name
// the two, and are exchanged whole. A nil error and a nil program mean that there is none.
type Store struct {
	Dir string
}

const (
	currentLink  = "current"
	previousLink = "previous"
	suffix       = ".pb"
)

// Current is the program that was loaded last.
func (s *Store) Current() (*delivery.Program, error) { return s.read(currentLink) }

// Previous is the program that ran before.
func (s *Store) Previous() (*delivery.Program, error) { return s.read(previousLink) }

func (s *Store) read(link string) (*delivery.Program, error) {
	file, err := os.Readlink(filepath.Join(s.Dir, link))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s program: %w", link, err)
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, file))
	if err != nil {
		return nil, fmt.Errorf("%s program: %w", link, err)
	}
	p, err := delivery.Check(b, strings.TrimSuffix(file, suffix))
	if err != nil {
		return nil, fmt.Errorf("%s program: %w", link, err)
	}
	for _, name := range tableFiles(p) {
		t, err := s.readTable(name)
		if err != nil {
			return nil, fmt.Errorf("%s program: table of routes: %w", link, err)
		}
		p.RouteTables = append(p.RouteTables, t)
	}
	return p, nil
}

// Save makes a program the current one. The one before it becomes the previous one if it has proved good, and else gives way.
func (s *Store) Save(p *delivery.Program, good bool) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("keep program: %w", err)
	}
	file := p.Hash + suffix
	current, err := os.Readlink(filepath.Join(s.Dir, currentLink))
	if err == nil && current == file {
		return nil
	}
	for i, name := range tableFiles(p) {
		if err := s.writeTable(name, p.RouteTables[i]); err != nil {
			return fmt.Errorf("keep program %s: table of routes: %w", p.Hash, err)
		}
	}
	err = s.write(file, p.Encoded)
	if err == nil && current != "" && good {
		err = s.link(previousLink, current)
	}
	if err == nil {
		err = s.link(currentLink, file)
	}
	if err != nil {
		return fmt.Errorf("keep program %s: %w", p.Hash, err)
	}
	s.clean()
	return nil
}

// Revert makes the previous program the current one again.
func (s *Store) Revert() error {
	previous, err := os.Readlink(filepath.Join(s.Dir, previousLink))
	if err == nil {
		err = s.link(currentLink, previous)
	}
	if err != nil {
		return fmt.Errorf("take back program: %w", err)
	}
	s.clean()
	return nil
}

// write writes a file that is either whole or not there, even if the node loses power.
func (s *Store) write(name string, b []byte) (err error) {
	f, err := os.CreateTemp(s.Dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.Dir, name))
}

func (s *Store) link(name, target string) error {
	fresh := filepath.Join(s.Dir, ".link-"+name)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(s.Dir, name))
}

// clean removes programs that no link names. What cannot be removed is tried again next time.
func (s *Store) clean() {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"+suffix))
	if err != nil {
		return
	}
	current, _ := os.Readlink(filepath.Join(s.Dir, currentLink))
	previous, _ := os.Readlink(filepath.Join(s.Dir, previousLink))
	for _, file := range files {
		if name := filepath.Base(file); name != current && name != previous {
			_ = os.Remove(file)
		}
	}
	s.cleanTables(current, previous)
}
