package finding

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean is `; did you mean "x"?` with the known name nearest to the one
// given, else the list of the known names, to be appended to a message.
func DidYouMean(name string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	best, dist := "", len(name)/2+1
	for _, k := range known {
		if d := distance(name, k); d < dist {
			best, dist = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	if len(known) > 12 {
		known = append(known[:12:12], "…")
	}
	return "; known: " + strings.Join(known, ", ")
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
