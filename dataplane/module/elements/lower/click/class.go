package click

import (
	"maps"
	"slices"
)

// class is a class of Click's elements.
type class struct {
	// ports are the numbers of inputs and outputs, as Click writes them: "1/1-2". Outputs from the first number on may be left open.
	ports     string
	configure func(*reader) any
	enter     func(x *visit, config any) target
	// ignores says that neither arguments nor ports are looked at.
	ignores bool
	// paint says that it reads paint, fixes that it writes the source of answers.
	paint, fixes bool
}

var classes = map[string]*class{}

// register is called once for each class. Names of several classes with one meaning are given together.
func register[C any](ports string, configure func(*reader) C, enter func(*visit, C) target, names ...string) *class {
	c := &class{
		ports:     ports,
		configure: func(r *reader) any { return configure(r) },
		enter:     func(x *visit, config any) target { return enter(x, config.(C)) },
	}
	for _, name := range names {
		classes[name] = c
	}
	return c
}

// nothing is the configuration of elements without arguments.
type nothing struct{}

func noArguments(*reader) nothing { return nothing{} }

// ignored reads no arguments, as they mean nothing here.
func ignored(r *reader) nothing {
	r.all = nil
	return nothing{}
}

// straight has packets leave by output 0 as they came.
func straight(x *visit, _ nothing) target { return x.onward(0, x.state) }

// known are the names of all classes.
func known() []string { return slices.Sorted(maps.Keys(classes)) }
