package rollout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/tables"
)

const (
	// buildTimeout bounds how long the texts of a program may take.
	buildTimeout = 2 * time.Minute
	// textsKept is how many bytes of texts are kept, beside those of the last program.
	textsKept = 32 << 20
)

// Tables builds the tables of routes that programs name by their hashes, from texts of stores. It keeps what it built last, so a small change takes
// little time. It is not for concurrent use. The zero value is ready.
type Tables struct {
	stores stores.Stores
	texts  rules.Memory
	routes tables.Memory
	built  []delivery.RouteTable // of the last program
}

// Build adds a program's tables to it. Again: what failed may not fail later.
func (t *Tables) Build(ctx context.Context, p *delivery.Program) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	t.stores.Keep = textsKept
	var all []delivery.RouteTable
	fresh := 0
	for i, f := range p.GetFibs() {
		table := t.known(f.GetHash())
		if table == nil {
			if table, again, err = t.build(ctx, p, i); err != nil {
				return again, fmt.Errorf("table of routes %d of %d: %w", i+1, len(p.GetFibs()), err)
			}
			fresh++
		}
		all = append(all, *table)
	}
	if fresh == len(all) { // what the others were built from may change next
		t.texts.Forget()
		t.routes.Forget()
	}
	p.RouteTables, t.built = all, all
	return false, nil
}

// known is a table of the last program; nil: it has none with that hash.
func (t *Tables) known(hash []byte) *delivery.RouteTable {
	for i := range t.built {
		if h := t.built[i].Hash(); string(h[:]) == string(hash) {
			return &t.built[i]
		}
	}
	return nil
}

func (t *Tables) build(ctx context.Context, p *delivery.Program, i int) (table *delivery.RouteTable, again bool, err error) {
	source, err := program.ReadFIBSource(p.Program, i)
	if err != nil {
		return nil, false, err
	}
	from := tables.Sources{Numbers: source.Numbers, Own: source.Own}
	for k, text := range source.Texts {
		file, again, err := t.read(ctx, fmt.Sprintf("%d/%d", i, k), text)
		if err != nil {
			return nil, again, fmt.Errorf("%s: %w", text.URL, err)
		}
		from.Files = append(from.Files, file)
	}
	routes := t.routes.Routes(strconv.Itoa(i), from)
	if got, want := routes.Table().Hash(), p.GetFibs()[i].GetHash(); string(got[:]) != string(want) {
		return nil, false, fmt.Errorf("the routes make table %.10s, the program wants %.10x: operator and agent must be of one release", got, want)
	}
	return &delivery.RouteTable{Table: routes.Table(), Routes: routes.Len()}, false, nil
}

// read reads a text by what is known of the one that was in its place.
func (t *Tables) read(ctx context.Context, place string, text fib.Text) (file tables.File, again bool, err error) {
	data, err := t.stores.Text(ctx, text.URL, text.SHA256)
	if err != nil {
		var refused *stores.RefusedError
		return file, !errors.As(err, &refused), err
	}
	files := rules.Files{Memory: &t.texts}
	for _, problem := range files.AddPrefixes(place, data) {
		if !problem.Warning {
			return file, false, fmt.Errorf("line %d: %q: %s", problem.Line, problem.Value, problem.Message)
		}
	}
	return tables.File{Origin: text.Origin, Prefixes: files.Prefixes[place], Version: files.Versions[place]}, false, nil
}
