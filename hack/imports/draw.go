package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A place of the page is between two lines.
const (
	begin = "<!-- %s, written by `go run ./hack/imports -write` -->\n"
	end   = "<!-- end of the %s -->\n"
)

// folded are folders that are drawn as one package.
var folded = []string{"cmd/sinter-agent", "cmd/sinter-operator", "cmd/sinterctl"}

// node is the name under which a package is drawn.
func node(path string) string {
	for _, f := range folded {
		if strings.HasPrefix(path, f+"/") {
			return f
		}
	}
	return path
}

// draw is a table of the packages by room. What a package imports anyway through another one that it imports is left out.
func draw(packages []pkg) string {
	imports := map[string]map[string]bool{}
	for _, p := range packages {
		n := node(p.Path)
		if level(p.Path) == len(rooms)-1 {
			continue // tests
		}
		if imports[n] == nil {
			imports[n] = map[string]bool{}
		}
		for _, i := range p.Imports {
			if to := node(i); to != n {
				imports[n][to] = true
			}
		}
	}
	var b strings.Builder
	fmt.Fprint(&b, "| room | package | imports |\n| --- | --- | --- |\n")
	for l := range rooms {
		name := rooms[l].name
		for _, n := range slices.Sorted(maps.Keys(imports)) {
			if level(n) != l {
				continue
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", name, n, direct(imports, n))
			name = ""
		}
	}
	return b.String()
}

// direct are the imports of a node that it does not have through another.
func direct(imports map[string]map[string]bool, n string) string {
	var list []string
	for _, i := range slices.Sorted(maps.Keys(imports[n])) {
		through := false
		for other := range imports[n] {
			through = through || other != i && reaches(imports, other, i)
		}
		if !through {
			list = append(list, "`"+i+"`")
		}
	}
	return strings.Join(list, ", ")
}

// reaches tells whether a node imports another, be it through others. There are no circles: the compiler refuses them.
func reaches(imports map[string]map[string]bool, from, to string) bool {
	for i := range imports[from] {
		if i == to || reaches(imports, i, to) {
			return true
		}
	}
	return false
}

// withGraph is a page's text with a graph in its place.
func withGraph(text, name, graph string) (string, error) {
	begin, end := fmt.Sprintf(begin, name), fmt.Sprintf(end, name)
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("%s: no place for the %s; add the lines\n%s%s", page, name, begin, end)
	}
	return before + begin + graph + end + after, nil
}
