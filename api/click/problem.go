package click

import "fmt"

// Pos is a place in the text, both counted from 1; the column in bytes.
type Pos struct{ Line, Column int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Problem is what is wrong with a text, or what to warn of.
type Problem struct {
	Pos
	Warning bool
	// Element is the one that it is about, "name :: Class"; empty: it is about none.
	Element string
	// Value is what the text has there.
	Value string
	// Message says what is wrong, and what would be right.
	Message string
}

// maxProblems bounds what is said of one text.
const maxProblems = 50

type problems []Problem

func (p *problems) fail(at Pos, value, format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, Problem{Pos: at, Value: value, Message: fmt.Sprintf(format, args...)})
	}
}
