// Package click reads configurations in the language of the Click modular router (Kohler et al., "The Click modular router", ACM TOCS 18(3), 2000;
// the manual page click(5)): what elements there are, with their arguments, and how they are connected. Compound elements, element groups
// and parameters are expanded. What the elements mean is not judged here.
package click

import "slices"

// Config is a configuration without abstractions.
type Config struct {
	Elements []Element
	// Connections are in the order of the text, each once.
	Connections []Connection
}

// Element is an element of the configuration.
type Element struct {
	// Name is unique; that of an element within a compound element is "compound/name".
	Name  string
	Class string
	Args  []Arg
	Pos   Pos
	// Undefined is the first parameter in the arguments that nobody defined, with its "$"; empty: there is none.
	Undefined string
}

func (e *Element) String() string { return e.Name + " :: " + e.Class }

// Arg is an argument of an element, without comments and without white space around it. Quotes are kept.
type Arg struct {
	Text string
	Pos  Pos
	text rich
}

// At is the place of a byte of the argument.
func (a Arg) At(off int) Pos { return a.text.at(off) }

// Connection leads packets from an output port to an input port. Elements are known by their index.
type Connection struct {
	From, FromPort int
	To, ToPort     int
	Pos            Pos
}

// Parse reads a text. There is no configuration if a problem is an error.
func Parse(text string) (*Config, []Problem) {
	if len(text) > MaxText {
		return nil, []Problem{{Pos: Pos{1, 1}, Message: "the text is too long; write at most 262144 bytes"}}
	}
	p := parser{lexer: newLexer(text)}
	top := p.scope(end)
	x := expander{problems: p.problems}
	if !p.stopped && len(p.problems) == 0 {
		x.expand(top)
	}
	if slices.ContainsFunc(x.problems, func(p Problem) bool { return !p.Warning }) {
		return nil, x.problems
	}
	return &x.config, x.problems
}
