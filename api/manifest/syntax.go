package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/finding"
)

const misplaced = "the indentation fits no line above it; fields of one mapping begin in the same column, and so do the entries of one list"

// meanings are parts of what the YAML reader says, and what the writer of the line most likely has to do.
var meanings = []struct{ says, means string }{
	{"did not find expected '-' indicator", misplaced},
	{"did not find expected key", misplaced},
	{"mapping values are not allowed", "a field cannot begin here; indent it like its neighbours, or put the text in quotes if its colon is a part of it"},
	{"block sequence entries are not allowed", "an entry of a list cannot begin here; the list's name has a line of its own above it"},
	{"could not find expected ':'", "a field wants a colon and a space behind its name"},
	{"did not find expected ',' or ']'", `the list that is open here lacks a comma, or its "]"`},
	{"did not find expected ',' or '}'", `the mapping that is open here lacks a comma, or its "}"`},
	{"did not find expected node content", "a value is missing, or a bracket that is open here is not closed"},
	{"found unexpected end of stream", "a text in quotes has no end"},
	{"found unexpected document indicator", "a text in quotes has no end"},
	{"found unknown escape character", `in double quotes a backslash begins an escape; write \\ for a backslash, or use single quotes`},
	{"cannot start any token", "a text that begins with such a character wants quotes"},
	{"control characters are not allowed", "there is a control character, which YAML does not have; take it out"},
	{"UTF-8", "there are bytes that are not UTF-8; save the file as UTF-8"},
}

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	anchor   = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
	tabs     = regexp.MustCompile(`^ *\t`)
)

// maxSearched is the size of a file in which the line of an error is searched for: it is read some twenty times then.
const maxSearched = 1 << 20

// syntaxError says what is no YAML in a file, and where. The reader gives the line in which the part begins that it cannot read on.
func syntaxError(file string, data []byte, err error) finding.Finding {
	m := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	f := finding.Finding{Code: finding.Unreadable, File: file, Line: 1, Message: "not YAML: " + err.Error()}
	if m != nil {
		f.Message = "not YAML: " + m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.Line = n
		}
	}
	if n := lineOf(data, err); n > 0 {
		f.Line = n
	}
	if at := tabbed(data); at > 0 && strings.Contains(err.Error(), "cannot start any token") {
		f.Line, f.Message = at, "the line begins with a tab, which YAML does not take for indentation; use spaces"
		return f
	}
	if m := anchor.FindStringSubmatch(err.Error()); m != nil {
		f.Message = fmt.Sprintf("*%[1]s stands for what &%[1]s names, which is not there; name it before, or write the value here", m[1])
		return f
	}
	for _, w := range meanings {
		if strings.Contains(err.Error(), w.says) {
			f.Message = "not YAML: " + w.means
			break
		}
	}
	return f
}

// lineOf is the first line with which a text has an error, from 1 on; 0: it was not searched for.
func lineOf(data []byte, err error) int {
	if len(data) > maxSearched {
		return 0
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	return min(len(lines), 1+sort.Search(len(lines), func(n int) bool {
		found := firstError(bytes.Join(lines[:n+1], nil))
		return found != nil && found.Error() == err.Error()
	}))
}

// firstError is what a text has of YAML that cannot be read.
func firstError(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// tabbed is the first line with a tab in its indentation, from 1 on; 0: none has.
func tabbed(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if n++; tabs.Match(line) {
			return n
		}
	}
	return 0
}
