package rollout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// Tables of routes are files beside the programs that name them: each named by its hash, with the number of its routes in four bytes, the most
// significant first, and the change that makes it of a table without routes.

const tableSuffix = ".fib"

// tableFiles are the names of the files of a program's tables.
func tableFiles(p *delivery.Program) []string {
	var out []string
	for _, f := range p.GetFibs() {
		out = append(out, fmt.Sprintf("%x%s", f.GetHash(), tableSuffix))
	}
	return out
}

func (s *Store) writeTable(name string, t delivery.RouteTable) error {
	if _, err := os.Stat(filepath.Join(s.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err // it is there, or nothing can be said
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(binary.BigEndian.AppendUint32(nil, uint32(t.Routes)), control.TableChange(nil, t.Table))
	if err != nil {
		return err
	}
	return s.write(name, b)
}

func (s *Store) readTable(name string) (t delivery.RouteTable, err error) {
	b, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		return t, err
	}
	var change controlpb.FibChange
	if len(b) < 4 {
		return t, fmt.Errorf("%s has %d bytes, want at least 4", name, len(b))
	}
	if err := proto.Unmarshal(b[4:], &change); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	table, err := control.ReadTable(&change)
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	if got := table.Hash().String(); got+tableSuffix != name {
		return t, fmt.Errorf("%s has the table %s: it was damaged", name, got)
	}
	return delivery.RouteTable{Table: table, Routes: int(binary.BigEndian.Uint32(b))}, nil
}

// cleanTables removes tables that none of some programs names. If a program cannot be read, all stay.
func (s *Store) cleanTables(programs ...string) {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"+tableSuffix))
	if err != nil || len(files) == 0 {
		return
	}
	var used []string
	for _, name := range programs {
		if name == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return
		}
		p, err := delivery.Check(b, strings.TrimSuffix(name, suffix))
		if err != nil {
			return
		}
		used = append(used, tableFiles(p)...)
	}
	for _, file := range files {
		if !slices.Contains(used, filepath.Base(file)) {
			_ = os.Remove(file)
		}
	}
}
