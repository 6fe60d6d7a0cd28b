// Package synth makes one packet program of a chain, with the elements of all functions. How it does that is in package walk.
package synth

import (
	// Whoever synthesizes a chain has the elements of all functions.
	_ "github.com/sinter-nfv/sinter/dataplane/module/all/synth"

	"github.com/sinter-nfv/sinter/dataplane/graph"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

// The words of the framework that callers need, too.
type (
	// Options bound the synthesis.
	Options = walk.Options
	// Result is a synthesized chain.
	Result = walk.Result
	// Session synthesizes the versions of a chain, one after the other.
	Session = walk.Session
	// Run is elements in a row that choose sources, and became one choice.
	Run = walk.Run
	// Warning is a finding that does not stop the chain from working.
	Warning = walk.Warning
	// Cut is where packets are classified again though look-ups could be one by what they mean.
	Cut = walk.Cut
)

// Synthesize makes one packet program of a chain. The same graph and options give the same program, byte for byte. It fails when the chain needs
// more than a program can say.
func Synthesize(g *graph.Graph, opts Options) (*Result, error) { return walk.Synthesize(g, opts) }
