// Package click lowers configurations of the Click modular router to elements of ours. What a Click element means is what its manual page says.
// Each class has an entry in a file; those without a counterpart are refused by name.
//
// The configuration is followed from its devices on, with all that is known of packets there: where their data begins, their paint, and
// other annotations. So elements that only set or read annotations leave nothing behind.
package click

import (
	"slices"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

// Function is a configuration as a function of elements.
type Function struct {
	// Ports are the devices' names, as names of ports.
	Ports []string
	// Devices are the devices of the ports, as they are written.
	Devices []string
	// Spec has the elements' names and links, and those that an `elements` function could have.
	Spec *v1alpha1.Elements
	// Made are the elements that it could not have, by name.
	Made map[string]Made
	// Problems are in the order of the text.
	Problems []click.Problem
	// Fragmenters are elements that cut packets to a length.
	Fragmenters []Fragmenter
	// Addresses are those that AddressInfo elements name.
	Addresses click.Addresses
}

// Made is an element that is there as it is.
type Made struct {
	// Make makes it, given "function/element"; nil: the spec says it.
	Make func(name string) element.Element
	Outs []string
	Pos  click.Pos
	// OfAnswers says that only packets which the chain itself generated come to it.
	OfAnswers bool
}

// Fragmenter is an IPFragmenter, which lets pass what fits.
type Fragmenter struct {
	MTU     int
	Element string
	Pos     click.Pos
}

// Bounds of what a configuration becomes.
const (
	// maxPlaces is the most elements, each with what is known of packets there.
	maxPlaces = 8192
	// maxMade is the most elements of ours.
	maxMade = 4096
	// maxProblems is the most that is said of a configuration.
	maxProblems = 50
)

// Lower reads a configuration and lowers it. It is to be used only if no problem is an error.
func Lower(text string) *Function {
	f := &Function{Spec: &v1alpha1.Elements{}, Made: map[string]Made{}}
	config, problems := click.Parse(text)
	f.Problems = problems
	if config == nil {
		return f
	}
	l := &lowerer{f: f, config: config, outs: map[port][]click.Connection{}, memo: map[place]target{}, open: map[place]bool{}, ends: map[target]bool{}, said: map[saying]bool{}}
	l.connect()
	l.configure()
	if !f.HasErrors() {
		l.walk()
	}
	slices.SortStableFunc(f.Problems, func(a, b click.Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return f
}

// HasErrors tells whether some problem is an error.
func (f *Function) HasErrors() bool {
	return slices.ContainsFunc(f.Problems, func(p click.Problem) bool { return !p.Warning })
}
