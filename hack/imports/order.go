package main

import (
	"fmt"
	"slices"
	"strings"
)

// room is packages that are on the same level. A path that ends in "/..." is a folder's packages; "*" is any one folder.
type room struct {
	name  string
	paths []string
}

// rooms are in their order. A package imports packages of rooms before its own, and of its own.
var rooms = []room{
	{"leaves", []string{
		"api/finding", "config/crd", "dataplane/binding", "dataplane/fib", "dataplane/headerspace", "dataplane/load", "dataplane/program/programpb", "dataplane/shard", "dataplane/tag",
		"test/packets",
	}},
	{"api", []string{"api/..."}},
	{"compiler", []string{
		"dataplane/compiler", "dataplane/delivery", "dataplane/element", "dataplane/graph", "dataplane/graph/lower",
		"dataplane/graph/placement", "dataplane/graph/wiring", "dataplane/interp", "dataplane/interp/flow",
		"dataplane/interp/header", "dataplane/interp/pass", "dataplane/module/*/lower/...", "dataplane/module/*/oracle", "dataplane/module/*/rules",
		"dataplane/module/*/synth/...", "dataplane/program", "dataplane/program/rule", "dataplane/synth", "dataplane/synth/boxes", "dataplane/synth/longest",
		"dataplane/synth/trees", "dataplane/synth/walk", "dataplane/tables",
	}},
	{"data plane", []string{"dataplane/agent/...", "dataplane/balance", "dataplane/control/...", "dataplane/dispatch", "dataplane/flows", "dataplane/footprint", "dataplane/health", "dataplane/ipfix"}},
	{"operator", []string{"controllers/..."}},
	{"commands", []string{"cmd/..."}},
	{"tests", []string{
		"charts", "config/...", "dataplane/graph/graphtest", "dataplane/interp/testbed", "dataplane/module/*/rules/examples", "dataplane/module/moduletest",
		"dataplane/program/rule/ruletest", "dataplane/synth/testbed", "hack/...", "test/...",
	}},
}

// apart are packages that know nothing of others, not even through a third.
var apart = []struct {
	who, of []string
	why     string
}{
	{
		[]string{"dataplane/interp/...", "dataplane/module/*/oracle"},
		[]string{"dataplane/synth/...", "dataplane/program/...", "dataplane/module/*/rules/...", "dataplane/module/*/synth/...", "dataplane/compiler"},
		"the oracle shares no code with what it judges",
	},
	{
		[]string{"dataplane/synth/...", "dataplane/module/*/synth/..."},
		[]string{"dataplane/interp/...", "dataplane/module/*/oracle"},
		"the oracle shares no code with what it judges",
	},
	{
		[]string{"dataplane/graph/...", "dataplane/module/*/lower/..."},
		[]string{
			"dataplane/compiler", "dataplane/interp/...", "dataplane/module/*/oracle", "dataplane/module/*/rules/...", "dataplane/module/*/synth/...", "dataplane/program/...",
			"dataplane/synth/...",
		},
		"a chain is lowered before anybody synthesizes or runs it",
	},
	{
		[]string{"dataplane/module/*/rules"},
		[]string{"dataplane/compiler", "dataplane/graph/...", "dataplane/interp/...", "dataplane/module/*/lower/...", "dataplane/module/*/oracle", "dataplane/module/*/synth/...", "dataplane/synth/..."},
		"rules are of programs, not of chains",
	},
	{
		[]string{"dataplane/agent/...", "cmd/sinter-agent/..."},
		[]string{"controllers/...", "dataplane/compiler", "dataplane/graph/...", "dataplane/interp/...", "dataplane/module/*/lower/...", "dataplane/module/*/oracle", "dataplane/module/*/synth/...", "dataplane/synth/..."},
		"an agent runs programs, not chains",
	},
	{
		[]string{"controllers/...", "cmd/sinter-operator/..."},
		[]string{"dataplane/agent/...", "dataplane/control/...", "dataplane/dispatch", "dataplane/interp/...", "dataplane/module/*/oracle"},
		"the operator knows engines by what agents report",
	},
	{[]string{"cmd/sinterctl/..."}, []string{"controllers/...", "dataplane/agent/..."}, "the command line talks to the API and to engines' sockets"},
}

// sees are packages that see nothing but some others, and what is in their own folder.
var sees = []struct {
	who, only []string
	why       string
}{
	{
		[]string{"dataplane/module/*/synth"},
		[]string{"dataplane/element", "dataplane/graph", "dataplane/headerspace", "dataplane/program/programpb", "dataplane/synth/walk"},
		"a meaning on sets is written with its framework, elements, and the schema of programs",
	},
	{
		[]string{"dataplane/module/*/lower/..."},
		[]string{
			"api/...", "dataplane/element", "dataplane/fib", "dataplane/graph/lower", "dataplane/graph/placement", "dataplane/graph/wiring", "dataplane/headerspace",
			"dataplane/tables",
		},
		"a function is lowered with the framework, elements, and what users write",
	},
}

// byName are packages that nobody imports who only uses what comes of them. That they come through a third is all right.
var byName = []struct {
	who, of []string
	why     string
}{
	{
		[]string{"dataplane/interp/...", "dataplane/module/*/oracle", "dataplane/module/*/synth/...", "dataplane/synth/..."},
		[]string{"dataplane/graph/lower", "dataplane/graph/placement", "dataplane/module/*/lower/...", "dataplane/module/all/lower"},
		"who reads a graph knows its elements, and not how they came there",
	},
}

// mayTest are imports of tests from rooms above, each with the reason.
var mayTest = map[[2]string]string{
	{"dataplane/agent", "controllers/scaling"}: "the operator's policy, the agent's loops and an engine in one test",
}

// level is the number of a package's room; -1: it is in none. The first room that has it is its room.
func level(path string) int {
	return slices.IndexFunc(rooms, func(r room) bool { return in(r.paths, path) })
}

func in(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		folder, all := strings.CutSuffix(p, "/...")
		want, have := strings.Split(folder, "/"), strings.Split(path, "/")
		if len(have) < len(want) || len(have) > len(want) && !all {
			return false
		}
		return slices.EqualFunc(want, have[:len(want)], func(w, h string) bool { return w == "*" || w == h })
	})
}

// module is the module that a package is of; empty: it is of none, or lists modules.
func module(path string) string {
	rest, _ := strings.CutPrefix(path, "dataplane/module/")
	name, _, below := strings.Cut(rest, "/")
	if !below || rest == path || name == "all" {
		return ""
	}
	return name
}

// dependencies tells the packages on which one depends, also through others.
func dependencies(packages []pkg) func(path string) []string {
	imports := map[string][]string{}
	for _, p := range packages {
		imports[p.Path] = p.Imports
	}
	return func(path string) []string {
		var all []string
		for next := imports[path]; len(next) > 0; {
			var further []string
			for _, i := range next {
				if !slices.Contains(all, i) {
					all, further = append(all, i), append(further, imports[i]...)
				}
			}
			next = further
		}
		slices.Sort(all)
		return all
	}
}

// check gives a line for each import that is not as it should be.
func check(packages []pkg) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	depend := dependencies(packages)
	for _, p := range packages {
		own := level(p.Path)
		if own < 0 {
			say("%s is in no room; give it one in hack/imports/order.go", p.Path)
			continue
		}
		for _, i := range p.Imports {
			if level(i) > own {
				say("%s (%s) imports %s (%s): imports go from %s", p.Path, rooms[own].name, i, rooms[level(i)].name, order())
			}
		}
		for _, i := range p.TestImports {
			if level(i) > own && level(i) < len(rooms)-1 && mayTest[[2]string{p.Path, i}] == "" {
				say("a test of %s (%s) imports %s (%s): imports go from %s", p.Path, rooms[own].name, i, rooms[level(i)].name, order())
			}
		}
		for _, i := range slices.Concat(p.Imports, p.TestImports) {
			if m := module(p.Path); m != "" && strings.HasPrefix(i, "dataplane/module/") && module(i) != m {
				say("%s imports %s: modules do not see each other", p.Path, i)
			}
		}
		for _, s := range sees {
			if module(p.Path) == "" || !in(s.who, p.Path) {
				continue
			}
			for _, i := range p.Imports {
				if !in(s.only, i) && !strings.HasPrefix(i, p.Path+"/") {
					say("%s imports %s: %s", p.Path, i, s.why)
				}
			}
		}
		for _, n := range byName {
			for _, i := range slices.Concat(p.Imports, p.TestImports) {
				if in(n.who, p.Path) && in(n.of, i) {
					say("%s imports %s: %s", p.Path, i, n.why)
				}
			}
		}
		for _, a := range apart {
			if !in(a.who, p.Path) {
				continue
			}
			for _, d := range depend(p.Path) {
				if in(a.of, d) {
					say("%s depends on %s: %s", p.Path, d, a.why)
				}
			}
		}
	}
	return wrong
}

// order is the rooms' names, from above to below.
func order() string {
	var names []string
	for _, r := range slices.Backward(rooms) {
		names = append(names, r.name)
	}
	return strings.Join(names, " to ")
}
