package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	comment = regexp.MustCompile(`^\s*(?://|/\*) ?(What|Who|Of) `)
	goesOn  = regexp.MustCompile(`^\s*(?://|\*|/\*)`)
	// declared is what a doc comment that begins with Of may be about.
	declared = regexp.MustCompile(`^\s*func (?:\([^)]*\) )?Of[\[(]`)
)

// beginnings gives a line for each comment that begins with a riddle: the reader learns last what it is about.
func beginnings(path string, text []byte) (found []string) {
	switch filepath.Ext(path) {
	case ".go", ".c", ".h", ".proto":
	default:
		return nil
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := comment.FindStringSubmatch(line)
		if m == nil || i > 0 && goesOn.MatchString(lines[i-1]) && !strings.HasSuffix(lines[i-1], "*/") {
			continue
		}
		next := i + 1
		for next < len(lines) && goesOn.MatchString(lines[next]) {
			next++
		}
		if m[1] == "Of" && next < len(lines) && declared.MatchString(lines[next]) {
			continue
		}
		found = append(found, fmt.Sprintf("%s:%d: a comment begins with %q: begin with the name of the thing", path, i+1, m[1]))
	}
	return found
}
