// Package finding is what there is to say about the user's input: errors and
// warnings that name place, field, value and what would be right.
package finding

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Severity of a finding.
type Severity uint8

// Severities: an Error keeps the chain from being compiled, a Warning does not.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Object identifies the resource that a finding is about.
type Object struct{ Kind, Namespace, Name string }

func (o Object) String() string {
	if o.Namespace != "" {
		return o.Kind + " " + o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + o.Name
}

// Code is what programs decide by, whatever a finding's field and words.
type Code uint8

// Codes of findings.
const (
	// Invalid is a value, or how several fit together, that is wrong as it is written.
	Invalid Code = iota
	// NotFound is a reference to something that is not there, and may come.
	NotFound
	// Unreadable is a text that is there and cannot be read: no YAML, not unpacked, larger than what is taken.
	Unreadable
	// NotCompiled is a chain that is right in all its parts, of which no program can be made.
	NotCompiled
)

func (c Code) String() string {
	return [...]string{Invalid: "Invalid", NotFound: "NotFound", Unreadable: "Unreadable", NotCompiled: "NotCompiled"}[c]
}

// Missing is the error that something is not there which a finding's field refers to.
type Missing string

func (m Missing) Error() string { return string(m) }

// CodeOf is the code of a text that could not be had.
func CodeOf(err error) Code {
	if missing := Missing(""); errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) {
		return NotFound
	}
	return Unreadable
}

// Finding is one error or warning.
type Finding struct {
	Severity Severity
	Code     Code
	Object   Object
	// Field is the path of the field ("spec.functions[1].router.routes[0].via").
	Field string
	// Value is what the user wrote there; empty: nothing to quote.
	Value string
	// Message says what is wrong and what would be right.
	Message string
	// File and Line are where it was written; Line 0: unknown.
	File string
	Line int
}

// String is the finding on one line: file:line: field: "value": message.
func (f Finding) String() string {
	var parts []string
	switch {
	case f.File != "" && f.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", f.File, f.Line))
	case f.File != "":
		parts = append(parts, f.File)
	case f.Object != (Object{}):
		parts = append(parts, f.Object.String())
	}
	if f.Severity == Warning {
		parts = append(parts, "warning")
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	if f.Value != "" {
		parts = append(parts, shown(f.Value))
	}
	return strings.Join(append(parts, f.Message), ": ")
}

// maxShown bounds the characters of a value that a message repeats: a stranger may have written it.
const maxShown = 100

// shown is a value in quotes, perhaps its beginning alone.
func shown(value string) string {
	runes := 0
	for at := range value {
		if runes++; runes > maxShown {
			return fmt.Sprintf("%q… (%d bytes)", value[:at], len(value))
		}
	}
	return strconv.Quote(value)
}

// List is findings in the order in which they were found.
type List []Finding

// Errors are the findings that keep the chain from being compiled.
func (l List) Errors() List { return l.only(Error) }

// Warnings are the others.
func (l List) Warnings() List { return l.only(Warning) }

func (l List) only(s Severity) List {
	var out List
	for _, f := range l {
		if f.Severity == s {
			out = append(out, f)
		}
	}
	return out
}

// HasErrors tells whether some finding is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(f Finding) bool { return f.Severity == Error })
}

// Err is the errors of the list as one error, a line each; nil if there are none.
func (l List) Err() error {
	if errs := l.Errors(); len(errs) > 0 {
		return failure{errs}
	}
	return nil
}

// failure is findings as an error.
type failure struct{ list List }

func (f failure) Error() string { return strings.TrimSuffix(f.list.String(), "\n") }

// Of is the findings that an error was (List.Err). Any other error is one finding: no program can be made.
func Of(err error) List {
	var f failure
	if errors.As(err, &f) {
		return f.list
	}
	return List{{Code: NotCompiled, Message: err.Error()}}
}

// Sorted is the list in the order of the input: by file, line and field.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// String is one finding per line.
func (l List) String() string {
	var b strings.Builder
	for _, f := range l {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
