package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// planted are the module's packages with one more file.
func planted(t *testing.T, module, path, text string) []pkg {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(module, path): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(text), overlay: replace} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := list(module, overlay)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func TestImportsGoOneWayAndTheGraphInTheDocsIsCurrent(t *testing.T) {
	if err := run(false); err != nil {
		t.Error(err)
	}
}

// own is the path of this module of Go.
const own = "github.com/sinter-nfv/sinter/"

// wrong is a file with an import that it must not have, and what is said of it.
type wrong struct{ path, text, want string }

// found tests that each wrong file is found.
func found(t *testing.T, files map[string]wrong) {
	module := root(t)
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			said := check(planted(t, module, f.path, f.text))
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, f.want) }) {
				t.Errorf("found %q, want %q", said, f.want)
			}
		})
	}
}

func TestAPlantedWrongImportIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"the data plane imports the operator": {
			"dataplane/agent/planted.go", "package agent\n\nimport _ \"" + own + "controllers/scaling\"\n",
			"dataplane/agent (data plane) imports controllers/scaling (operator): imports go from ",
		},
		"the API imports the compiler": {
			"api/manifest/planted.go", "package manifest\n\nimport _ \"" + own + "dataplane/program\"\n",
			"api/manifest (api) imports dataplane/program (compiler): ",
		},
		"a leaf imports the API": {
			"dataplane/shard/planted.go", "package shard\n\nimport _ \"" + own + "api/v1alpha1\"\n",
			"dataplane/shard (leaves) imports api/v1alpha1 (api): ",
		},
		"a test imports from above": {
			"dataplane/balance/planted_test.go", "package balance\n\nimport _ \"" + own + "controllers/scaling\"\n",
			"a test of dataplane/balance (data plane) imports controllers/scaling (operator): ",
		},
		"the operator meets the agent through a third": {
			"dataplane/load/planted.go", "package load\n\nimport _ \"" + own + "dataplane/control\"\n",
			"controllers/scaling depends on dataplane/control: the operator knows engines by what agents report",
		},
		"the compiler imports messages of the control socket": {
			"dataplane/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/control/controlpb\"\n",
			"dataplane/synth (compiler) imports dataplane/control/controlpb (data plane): ",
		},
		"the operator imports flow rules of devices": {
			"controllers/compile/planted.go", "package compile\n\nimport _ \"" + own + "dataplane/control/flowspb\"\n",
			"controllers/compile depends on dataplane/control/flowspb: the operator knows engines by what agents report",
		},
		"a package without a room": {
			"elsewhere/planted.go", "package elsewhere\n", "elsewhere is in no room",
		},
	})
}

func TestAModuleThatSeesMoreThanItMayIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"a module imports another one": {
			"dataplane/module/napt/rules/planted.go", "package rules\n\nimport _ \"" + own + "dataplane/module/firewall/rules\"\n",
			"dataplane/module/napt/rules imports dataplane/module/firewall/rules: modules do not see each other",
		},
		"a test of a module imports another one": {
			"dataplane/module/napt/rules/planted_test.go", "package rules_test\n\nimport _ \"" + own + "dataplane/module/limiter/rules/examples\"\n",
			"dataplane/module/napt/rules imports dataplane/module/limiter/rules/examples: modules do not see each other",
		},
		"a test of a module imports the list of all": {
			"dataplane/module/napt/rules/planted_test.go", "package rules_test\n\nimport _ \"" + own + "dataplane/module/all/rules\"\n",
			"dataplane/module/napt/rules imports dataplane/module/all/rules: modules do not see each other",
		},
		"rules import the chain": {
			"dataplane/module/napt/rules/planted.go", "package rules\n\nimport _ \"" + own + "dataplane/graph\"\n",
			"dataplane/module/napt/rules depends on dataplane/graph: rules are of programs, not of chains",
		},
		"rules import the synthesizer's helpers": {
			"dataplane/module/inspect/rules/planted.go", "package rules\n\nimport _ \"" + own + "dataplane/synth/trees\"\n",
			"dataplane/module/inspect/rules depends on dataplane/synth/trees: rules are of programs, not of chains",
		},
		"the oracle imports rules": {
			"dataplane/interp/planted.go", "package interp\n\nimport _ \"" + own + "dataplane/module/napt/rules\"\n",
			"dataplane/interp depends on dataplane/module/napt/rules: the oracle shares no code with what it judges",
		},
		"a module's oracle imports its rules": {
			"dataplane/module/limiter/oracle/planted.go", "package oracle\n\nimport _ \"" + own + "dataplane/module/limiter/rules\"\n",
			"dataplane/module/limiter/oracle depends on dataplane/module/limiter/rules: the oracle shares no code with what it judges",
		},
		"a module's oracle imports programs": {
			"dataplane/module/firewall/oracle/planted.go", "package oracle\n\nimport _ \"" + own + "dataplane/program/programpb\"\n",
			"dataplane/module/firewall/oracle depends on dataplane/program/programpb: the oracle shares no code with what it judges",
		},
		"a module's oracle imports the synthesizer's helpers": {
			"dataplane/module/balancer/oracle/planted.go", "package oracle\n\nimport _ \"" + own + "dataplane/synth/trees\"\n",
			"dataplane/module/balancer/oracle depends on dataplane/synth/trees: the oracle shares no code with what it judges",
		},
		"the oracle's framework imports rules": {
			"dataplane/interp/pass/planted.go", "package pass\n\nimport _ \"" + own + "dataplane/program/rule\"\n",
			"dataplane/interp/pass depends on dataplane/program/rule: the oracle shares no code with what it judges",
		},
		"the synthesizer imports a module's oracle": {
			"dataplane/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/module/inspect/oracle\"\n",
			"dataplane/synth depends on dataplane/module/inspect/oracle: the oracle shares no code with what it judges",
		},
		"rules import the oracle's helpers": {
			"dataplane/module/monitor/rules/planted.go", "package rules\n\nimport _ \"" + own + "dataplane/interp/flow\"\n",
			"dataplane/module/monitor/rules depends on dataplane/interp/flow: rules are of programs, not of chains",
		},
		"a module's oracle imports another module's": {
			"dataplane/module/monitor/oracle/planted.go", "package oracle\n\nimport _ \"" + own + "dataplane/module/inspect/oracle\"\n",
			"dataplane/module/monitor/oracle imports dataplane/module/inspect/oracle: modules do not see each other",
		},
	})
}

func TestAMeaningOnSetsThatSeesMoreThanItMayIsFound(t *testing.T) {
	found(t, map[string]wrong{
		"the synthesizer's framework imports the oracle's": {
			"dataplane/synth/walk/planted.go", "package walk\n\nimport _ \"" + own + "dataplane/interp/pass\"\n",
			"dataplane/synth/walk depends on dataplane/interp/pass: the oracle shares no code with what it judges",
		},
		"a module's meaning on sets imports its oracle": {
			"dataplane/module/limiter/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/module/limiter/oracle\"\n",
			"dataplane/module/limiter/synth depends on dataplane/module/limiter/oracle: the oracle shares no code with what it judges",
		},
		"a module's oracle imports its meaning on sets": {
			"dataplane/module/limiter/oracle/planted.go", "package oracle\n\nimport _ \"" + own + "dataplane/module/limiter/synth\"\n",
			"dataplane/module/limiter/oracle depends on dataplane/module/limiter/synth: the oracle shares no code with what it judges",
		},
		"a module's meaning on sets imports its rules": {
			"dataplane/module/limiter/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/module/limiter/rules\"\n",
			"dataplane/module/limiter/synth imports dataplane/module/limiter/rules: a meaning on sets is written with its framework, ",
		},
		"a module's meaning on sets imports another module's": {
			"dataplane/module/monitor/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/module/inspect/synth\"\n",
			"dataplane/module/monitor/synth imports dataplane/module/inspect/synth: modules do not see each other",
		},
		"a module's meaning on sets imports the synthesizer's boxes": {
			"dataplane/module/limiter/synth/planted.go", "package synth\n\nimport _ \"" + own + "dataplane/synth/boxes\"\n",
			"dataplane/module/limiter/synth imports dataplane/synth/boxes: a meaning on sets is written with its framework, ",
		},
	})
}

func TestALoweringThatSeesMoreThanItMayIsFound(t *testing.T) {
	const lowered, read = "a chain is lowered before anybody synthesizes or runs it", "who reads a graph knows its elements, and not how they came there"
	files := map[string]wrong{
		"a module's lowering imports another module's": {
			"dataplane/module/monitor/lower/planted.go", "package lower\n\nimport _ \"" + own + "dataplane/module/limiter/lower\"\n",
			"dataplane/module/monitor/lower imports dataplane/module/limiter/lower: modules do not see each other",
		},
	}
	plant := func(who, name, of, want string) {
		files[who+" imports "+of] = wrong{who + "/planted.go", "package " + name + "\n\nimport _ \"" + own + of + "\"\n", want}
	}
	for _, of := range []string{
		"dataplane/interp/flow", "dataplane/module/limiter/rules", "dataplane/program/programpb", "dataplane/synth/boxes",
	} { // of an oracle Go itself says that it goes round
		plant("dataplane/module/limiter/lower", "lower", of, "dataplane/module/limiter/lower depends on "+of+": "+lowered)
	}
	plant("dataplane/graph/lower", "lower", "dataplane/program", "dataplane/graph/lower depends on dataplane/program: "+lowered)
	plant("dataplane/module/limiter/rules", "rules", "dataplane/module/limiter/lower",
		"dataplane/module/limiter/rules depends on dataplane/module/limiter/lower: rules are of programs, not of chains")
	for _, w := range [][3]string{
		{"dataplane/module/limiter/oracle", "oracle", "dataplane/graph/lower"},
		{"dataplane/interp", "interp", "dataplane/graph/placement"},
		{"dataplane/synth", "synth", "dataplane/module/all/lower"},
		{"dataplane/module/limiter/oracle", "oracle", "dataplane/module/limiter/lower"},
	} {
		plant(w[0], w[1], w[2], w[0]+" imports "+w[2]+": "+read)
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
