package interp

import (
	// Whoever runs a chain has the elements of all functions.
	_ "github.com/sinter-nfv/sinter/dataplane/module/all/oracle"

	"github.com/sinter-nfv/sinter/dataplane/interp/pass"
)

// The words of the framework that callers need, too.
type (
	// Step is a packet's passage through one element.
	Step = pass.Step
	// Result is the fate of one frame.
	Result = pass.Result
	// Out is a frame that leaves.
	Out = pass.Out
	// Drop is a packet that ended, and why.
	Drop = pass.Drop
	// Count is a counter's value.
	Count = pass.Count
	// Binding names a flow that an element keeps state for.
	Binding = pass.Binding
	// Session is a live session of an element that writes addresses.
	Session = pass.Session
	// Chooser makes the run-time choice of a NAPT that needs a new binding.
	Chooser = pass.Chooser
	// Told is a choice of an engine's for a frame.
	Told = pass.Told
)
