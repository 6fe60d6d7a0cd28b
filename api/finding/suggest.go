package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest is the known name that was likely meant by the one given; empty: none is near.
func Nearest(name string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	best, dist := "", len(name)/2+1
	for _, k := range known {
		if d := distance(name, k); d < dist {
			best, dist = k, d
		}
	}
	for i := 0; best == "" && i < len(known); i++ {
		if abbreviates(strings.ToLower(name), strings.ToLower(known[i])) {
			best = known[i]
		}
	}
	return best
}

// DidYouMean is `; did you mean "x"?` with the known name nearest to the one
// given, else the list of the known names, to be appended to a message.
func DidYouMean(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	known = slices.Sorted(slices.Values(known))
	if len(known) == 0 {
		return ""
	}
	if len(known) > 12 {
		known = append(known[:12:12], "…")
	}
	return "; known: " + strings.Join(known, ", ")
}

// shortForms are those that tools for packets use.
var shortForms = map[string]string{"src": "source", "dst": "destination", "sport": "sourceport", "dport": "destinationport"}

// NotOneOf says which values are known, and which of them was likely meant: it is to be written if only the spelling differs ("dec-ttl" for DecTTL).
func NotOneOf(value string, known []string) string {
	says := "must be one of " + strings.Join(known, ", ")
	letters := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(value))
	if long, ok := shortForms[letters]; ok {
		letters = long
	}
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, letters) }); i >= 0 {
		return fmt.Sprintf("%s; write %q", says, known[i])
	}
	if best := Nearest(value, known); best != "" {
		return fmt.Sprintf("%s; did you mean %q?", says, best)
	}
	return says
}

// minAbbreviation is the letters of the shortest name that is taken for an abbreviation.
const minAbbreviation = 4

// abbreviates tells that a name lacks letters of the other and has no more, as destPorts of destinationPorts.
func abbreviates(short, long string) bool {
	if len(short) < minAbbreviation {
		return false
	}
	for i := range len(long) {
		if short != "" && long[i] == short[0] {
			short = short[1:]
		}
	}
	return short == ""
}

// distance is the number of letters to insert, delete or replace (Levenshtein)
// to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, diag+1)
		}
	}
	return row[len(b)]
}
