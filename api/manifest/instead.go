package manifest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A hint what to write instead of a value of the wrong shape, to be appended to a message; empty if nobody can know.

// mostEntries is of how many entries a list is that a message shows.
const mostEntries = 12

// asList shows a single value, or several with commas between them, as a list.
func asList(n *yaml.Node) string {
	entries := strings.Split(n.Value, ",")
	if n.Kind != yaml.ScalarNode || len(entries) > mostEntries || strings.ContainsAny(n.Value, "\n[]{}") {
		return ""
	}
	for i, e := range entries {
		if entries[i] = strings.TrimSpace(e); entries[i] == "" || len(entries[i]) > maxGuessed {
			return ""
		}
	}
	return "; write [" + strings.Join(entries, ", ") + "]"
}

// asScalar shows a list's only value.
func asScalar(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 1 {
		return ""
	}
	only := n.Content[0]
	if only.Kind != yaml.ScalarNode || only.Value == "" || len(only.Value) > maxGuessed || strings.Contains(only.Value, "\n") {
		return ""
	}
	return "; write " + only.Value
}

// asMapping shows a value as that of the only field that must be there, or else which fields there are.
func asMapping(n *yaml.Node, s *schema) string {
	if len(s.Required) == 1 && n.Kind == yaml.ScalarNode && n.Value != "" && len(n.Value) <= maxGuessed && !strings.ContainsAny(n.Value, "\n,:{}[]") {
		return fmt.Sprintf("; write {%s: %s}", s.Required[0], n.Value)
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	if len(known) == 0 || len(known) > mostEntries {
		return ""
	}
	return "; known fields: " + strings.Join(known, ", ")
}

// asInteger shows a number with an exponent or a point in digits, if it is whole.
func asInteger(n *yaml.Node) string {
	var f float64
	if err := n.Decode(&f); err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return ""
	}
	return "; write " + strconv.FormatFloat(f, 'f', -1, 64)
}

func texts(enum []any) []string {
	out := make([]string, len(enum))
	for i, e := range enum {
		out[i] = fmt.Sprint(e)
	}
	return out
}
