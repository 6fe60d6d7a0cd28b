package main

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func root(t *testing.T) string {
	t.Helper()
	module, err := moduleOf(".")
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// listed are the module's packages as they are, listed once.
var listed = sync.OnceValues(func() ([]pkg, error) {
	module, err := moduleOf(".")
	if err != nil {
		return nil, err
	}
	return list(module, "")
})

// planted are packages with one more file each at some paths, with the import of another package; empty: with none. Each case has a list of its
// own, so that nothing is found because of another case's file.
func planted(t *testing.T, packages []pkg, files map[string]string) []pkg {
	t.Helper()
	packages = slices.Clone(packages)
	index := func(of string) int { return slices.IndexFunc(packages, func(p pkg) bool { return p.Path == of }) }
	with := func(list []string, of string) []string {
		list = append(slices.Clone(list), of)
		slices.Sort(list)
		return slices.Compact(list)
	}
	for file, of := range files {
		n := index(path.Dir(file))
		switch {
		case of == "" && n < 0:
			packages = append(packages, pkg{Path: path.Dir(file)})
		case n < 0 || index(of) < 0:
			t.Fatalf("%s imports %q: one of the two is no package", file, of)
		case strings.HasSuffix(file, "_test.go"):
			packages[n].TestImports = with(packages[n].TestImports, of)
		default:
			packages[n].Imports = with(packages[n].Imports, of)
		}
	}
	return packages
}

func TestImportsGoOneWayAndTheGraphInTheDocsIsCurrent(t *testing.T) {
	if err := run(false); err != nil {
		t.Error(err)
	}
}

// wrong is a file with an import that it must not have, and what is said of it.
type wrong struct{ file, of, want string }

// found tests that each wrong file is found.
func found(t *testing.T, files map[string]wrong) {
	packages, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			said := check(planted(t, packages, map[string]string{f.file: f.of}))
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, f.want) }) {
				t.Errorf("found %q, want %q", said, f.want)
			}
		})
	}
}

// Files that are planted in lists are as Go itself lists them when there are such files: this is seen once, for a file of each sort.
func TestFilesOfEachSortAreListed(t *testing.T) {
	module, dir := root(t), t.TempDir()
	replace, imports := map[string]string{}, map[string]string{}
	for n, f := range []struct{ file, name, of string }{
		{"dataplane/load/planted.go", "load", "dataplane/control"},
		{"dataplane/balance/planted_test.go", "balance", "controllers/scaling"},
		{"dataplane/module/napt/rules/planted_test.go", "rules_test", "dataplane/module/limiter/rules/examples"},
		{"elsewhere/planted.go", "elsewhere", ""},
	} {
		text := "package " + f.name + "\n"
		if f.of != "" {
			text += "\nimport _ \"github.com/sinter-nfv/sinter/" + f.of + "\"\n"
		}
		file := filepath.Join(dir, strconv.Itoa(n))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(module, f.file)], imports[f.file] = file, f.of
	}
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := list(module, overlay)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]pkg{}
	for _, p := range all {
		got[p.Path] = p
	}
	for _, want := range planted(t, packages, imports) {
		if p := got[want.Path]; !reflect.DeepEqual(p, want) {
			t.Errorf("Go lists %+v, want %+v", p, want)
		}
	}
}

func TestAPlantedWrongImportIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"the data plane imports the operator": {
			"dataplane/agent/planted.go", "controllers/scaling",
			"dataplane/agent (data plane) imports controllers/scaling (operator): imports go from ",
		},
		"the API imports the compiler": {
			"api/manifest/planted.go", "dataplane/program",
			"api/manifest (api) imports dataplane/program (compiler): ",
		},
		"a leaf imports the API": {
			"dataplane/shard/planted.go", "api/v1alpha1",
			"dataplane/shard (leaves) imports api/v1alpha1 (api): ",
		},
		"a test imports from above": {
			"dataplane/balance/planted_test.go", "controllers/scaling",
			"a test of dataplane/balance (data plane) imports controllers/scaling (operator): ",
		},
		"the operator meets the agent through a third": {
			"dataplane/load/planted.go", "dataplane/control",
			"controllers/scaling depends on dataplane/control: the operator knows engines by what agents report",
		},
		"the compiler imports messages of the control socket": {
			"dataplane/synth/planted.go", "dataplane/control/controlpb",
			"dataplane/synth (compiler) imports dataplane/control/controlpb (data plane): ",
		},
		"the operator imports flow rules of devices": {
			"controllers/compile/planted.go", "dataplane/control/flowspb",
			"controllers/compile depends on dataplane/control/flowspb: the operator knows engines by what agents report",
		},
		"a package without a room": {
			"elsewhere/planted.go", "", "elsewhere is in no room",
		},
	})
}

func TestAModuleThatSeesMoreThanItMayIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"a module imports another one": {
			"dataplane/module/napt/rules/planted.go", "dataplane/module/firewall/rules",
			"dataplane/module/napt/rules imports dataplane/module/firewall/rules: modules do not see each other",
		},
		"a test of a module imports another one": {
			"dataplane/module/napt/rules/planted_test.go", "dataplane/module/limiter/rules/examples",
			"dataplane/module/napt/rules imports dataplane/module/limiter/rules/examples: modules do not see each other",
		},
		"a test of a module imports the list of all": {
			"dataplane/module/napt/rules/planted_test.go", "dataplane/module/all/rules",
			"dataplane/module/napt/rules imports dataplane/module/all/rules: modules do not see each other",
		},
		"rules import the chain": {
			"dataplane/module/napt/rules/planted.go", "dataplane/graph",
			"dataplane/module/napt/rules depends on dataplane/graph: rules are of programs, not of chains",
		},
		"rules import the synthesizer's helpers": {
			"dataplane/module/inspect/rules/planted.go", "dataplane/synth/trees",
			"dataplane/module/inspect/rules depends on dataplane/synth/trees: rules are of programs, not of chains",
		},
		"the oracle imports rules": {
			"dataplane/interp/planted.go", "dataplane/module/napt/rules",
			"dataplane/interp depends on dataplane/module/napt/rules: the oracle shares no code with what it judges",
		},
		"a module's oracle imports its rules": {
			"dataplane/module/limiter/oracle/planted.go", "dataplane/module/limiter/rules",
			"dataplane/module/limiter/oracle depends on dataplane/module/limiter/rules: the oracle shares no code with what it judges",
		},
		"a module's oracle imports programs": {
			"dataplane/module/firewall/oracle/planted.go", "dataplane/program/programpb",
			"dataplane/module/firewall/oracle depends on dataplane/program/programpb: the oracle shares no code with what it judges",
		},
		"a module's oracle imports the synthesizer's helpers": {
			"dataplane/module/balancer/oracle/planted.go", "dataplane/synth/trees",
			"dataplane/module/balancer/oracle depends on dataplane/synth/trees: the oracle shares no code with what it judges",
		},
		"the oracle's framework imports rules": {
			"dataplane/interp/pass/planted.go", "dataplane/program/rule",
			"dataplane/interp/pass depends on dataplane/program/rule: the oracle shares no code with what it judges",
		},
		"the synthesizer imports a module's oracle": {
			"dataplane/synth/planted.go", "dataplane/module/inspect/oracle",
			"dataplane/synth depends on dataplane/module/inspect/oracle: the oracle shares no code with what it judges",
		},
		"rules import the oracle's helpers": {
			"dataplane/module/monitor/rules/planted.go", "dataplane/interp/flow",
			"dataplane/module/monitor/rules depends on dataplane/interp/flow: rules are of programs, not of chains",
		},
		"a module's oracle imports another module's": {
			"dataplane/module/monitor/oracle/planted.go", "dataplane/module/inspect/oracle",
			"dataplane/module/monitor/oracle imports dataplane/module/inspect/oracle: modules do not see each other",
		},
	})
}

func TestAMeaningOnSetsThatSeesMoreThanItMayIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"the synthesizer's framework imports the oracle's": {
			"dataplane/synth/walk/planted.go", "dataplane/interp/pass",
			"dataplane/synth/walk depends on dataplane/interp/pass: the oracle shares no code with what it judges",
		},
		"a module's meaning on sets imports its oracle": {
			"dataplane/module/limiter/synth/planted.go", "dataplane/module/limiter/oracle",
			"dataplane/module/limiter/synth depends on dataplane/module/limiter/oracle: the oracle shares no code with what it judges",
		},
		"a module's oracle imports its meaning on sets": {
			"dataplane/module/limiter/oracle/planted.go", "dataplane/module/limiter/synth",
			"dataplane/module/limiter/oracle depends on dataplane/module/limiter/synth: the oracle shares no code with what it judges",
		},
		"a module's meaning on sets imports its rules": {
			"dataplane/module/limiter/synth/planted.go", "dataplane/module/limiter/rules",
			"dataplane/module/limiter/synth imports dataplane/module/limiter/rules: a meaning on sets is written with its framework, ",
		},
		"a module's meaning on sets imports another module's": {
			"dataplane/module/monitor/synth/planted.go", "dataplane/module/inspect/synth",
			"dataplane/module/monitor/synth imports dataplane/module/inspect/synth: modules do not see each other",
		},
		"a module's meaning on sets imports the synthesizer's boxes": {
			"dataplane/module/limiter/synth/planted.go", "dataplane/synth/boxes",
			"dataplane/module/limiter/synth imports dataplane/synth/boxes: a meaning on sets is written with its framework, ",
		},
	})
}

func TestALoweringThatSeesMoreThanItMayIsFound(t *testing.T) {
	const lowered, read = "a chain is lowered before anybody synthesizes or runs it", "who reads a graph knows its elements, and not how they came there"
	files := map[string]wrong{
		"a module's lowering imports another module's": {
			"dataplane/module/monitor/lower/planted.go", "dataplane/module/limiter/lower",
			"dataplane/module/monitor/lower imports dataplane/module/limiter/lower: modules do not see each other",
		},
	}
	plant := func(who, of, want string) {
		files[who+" imports "+of] = wrong{who + "/planted.go", of, want}
	}
	for _, of := range []string{
		"dataplane/interp/flow", "dataplane/module/limiter/rules", "dataplane/program/programpb", "dataplane/synth/boxes",
	} { // of an oracle Go itself says that it goes round
		plant("dataplane/module/limiter/lower", of, "dataplane/module/limiter/lower depends on "+of+": "+lowered)
	}
	plant("dataplane/graph/lower", "dataplane/program", "dataplane/graph/lower depends on dataplane/program: "+lowered)
	plant("dataplane/module/limiter/rules", "dataplane/module/limiter/lower",
		"dataplane/module/limiter/rules depends on dataplane/module/limiter/lower: rules are of programs, not of chains")
	for _, w := range [][2]string{
		{"dataplane/module/limiter/oracle", "dataplane/graph/lower"},
		{"dataplane/interp", "dataplane/graph/placement"},
		{"dataplane/synth", "dataplane/module/all/lower"},
		{"dataplane/module/limiter/oracle", "dataplane/module/limiter/lower"},
	} {
		plant(w[0], w[1], w[0]+" imports "+w[1]+": "+read)
	}
	found(t, files)
}

func TestTheGraphLeavesOutWhatAnotherImportBrings(t *testing.T) {
	got := draw([]pkg{
		{Path: "dataplane/load", Imports: []string{"dataplane/shard"}},
		{Path: "dataplane/shard"},
		{Path: "cmd/sinterctl", Imports: []string{"cmd/sinterctl/internal/dot"}},
		{Path: "cmd/sinterctl/internal/dot", Imports: []string{"dataplane/load", "dataplane/shard"}},
	})
	want := "| room | package | imports |\n| --- | --- | --- |\n" +
		"| leaves | `dataplane/load` | `dataplane/shard` |\n|  | `dataplane/shard` |  |\n" +
		"| commands | `cmd/sinterctl` | `dataplane/load` |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAPlantedWrongIncludeIsFound(t *testing.T) {
	module := root(t)
	for name, c := range map[string]struct{ path, text, want string }{
		"a library includes one above it": {
			"dataplane/engine/packet/planted.c", "#include \"sn_program.h\"\n",
			"dataplane/engine/packet includes headers of program, which it does not use: see dataplane/engine/packet/meson.build",
		},
		"what a function keeps includes a worker": {
			"dataplane/module/planted/engine/planted.c", "#include \"sn_worker.h\"\n",
			"dataplane/engine/module includes headers of worker, which it does not use: see dataplane/engine/module/meson.build",
		},
		"what a function keeps includes another function's": {
			"dataplane/module/planted/engine/planted.c", "#include \"sn_napt.h\"\n",
			"dataplane/module/planted/engine/planted.c includes sn_napt.h of dataplane/module/napt/engine: what a function keeps is seen by that function alone",
		},
		"an operation of a function includes another function's": {
			"dataplane/module/firewall/engine/sn_op_planted.c", "#include \"sn_napt.h\"\n",
			"dataplane/module/firewall/engine/sn_op_planted.c includes sn_napt.h of dataplane/module/napt/engine: what a function keeps is seen by that function alone",
		},
		"an operation of all functions includes what one keeps": {
			"dataplane/engine/operation/planted.c", "#include \"sn_track.h\"\n",
			"dataplane/engine/operation/planted.c includes sn_track.h of dataplane/module/firewall/engine: what a function keeps is seen by that function alone",
		},
		"a worker includes what a function keeps": {
			"dataplane/engine/worker/planted.c", "#include \"sn_napt.h\"\n",
			"dataplane/engine/worker includes headers of module, which it does not use: see dataplane/engine/worker/meson.build",
		},
		"the slow path includes the fast ways": {
			"dataplane/engine/slow/planted.c", "#include \"sn_fast.h\"\n",
			"dataplane/engine/slow includes headers of fast, which it does not use: see dataplane/engine/slow/meson.build",
		},
		"next hops include the slow path": {
			"dataplane/engine/next/planted.h", "#include \"sn_slow.h\"\n",
			"dataplane/engine/next includes headers of slow, which it does not use: see dataplane/engine/next/meson.build",
		},
		"a burst includes next hops": {
			"dataplane/engine/burst/planted.c", "#include \"sn_neigh.h\"\n",
			"dataplane/engine/burst includes headers of next, which it does not use: see dataplane/engine/burst/meson.build",
		},
		"a worker includes messages of the control socket": {
			"dataplane/engine/worker/planted.c", "#include \"control.pb-c.h\"\n",
			"dataplane/engine/worker includes headers of schema_control, which it does not use: see dataplane/engine/worker/meson.build",
		},
		"a library includes one beside it": {
			"dataplane/engine/port/planted.h", "#include <stdio.h>\n# include \"sn_parse.h\"\n",
			"dataplane/engine/port includes headers of packet, which it does not use: see dataplane/engine/port/meson.build",
		},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := libraries(module, map[string]string{c.path: c.text})
			if err != nil {
				t.Fatal(err)
			}
			if wrong := checkEngine(list); !slices.Equal(wrong, []string{c.want}) {
				t.Errorf("found %q, want %q", wrong, c.want)
			}
		})
	}
}

func TestTheEnginesGraphIsDrawnFromIncludes(t *testing.T) {
	got := drawEngine([]library{
		{Name: "base", Headers: []string{"a.h"}},
		{Name: "packet", Uses: []string{"base"}, Headers: []string{"b.h"}, Includes: map[string][]string{"b.h": {"a.h"}}},
		{Name: "port", Uses: []string{"base"}},
		{Name: "worker", Uses: []string{"packet", "port"}, Includes: map[string][]string{"c.c": {"a.h", "b.h", "c.h"}}},
	})
	want := "| library | includes headers of |\n| --- | --- |\n| `base` |  |\n| `packet` | `base` |\n| `port` |  |\n| `worker` | `packet` |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
