package rule

import (
	"reflect"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Outcome is all that Go has to know of what comes of a leg's packets.
type Outcome struct {
	// Check refuses an outcome that does not fit the program. Its messages begin with at, the place in the program.
	Check func(p *programpb.Program, at string, l *programpb.Leg) error
	// LeadsTo are the segments in which packets may be classified again, as far as the leg tells; nil: none.
	LeadsTo func(l *programpb.Leg) []uint32
	// Text says it in words: what becomes of the packets; nil: the framework knows it.
	Text func(p *programpb.Program, l *programpb.Leg) string
	// Unless are the reasons under which a packet may be dropped, for what no header says; nil: there are none.
	Unless func(p *programpb.Program, l *programpb.Leg) []string
}

// outcomes are by the type of the outcome's member in Leg.
var outcomes = map[reflect.Type]Outcome{}

// RegisterOutcome adds the outcome that is Leg's member M, such as *programpb.Leg_Output.
func RegisterOutcome[M any](o Outcome) { add(outcomes, reflect.TypeFor[M](), o) }

// OutcomeOf is what is known of a leg's outcome; false: it has none.
func OutcomeOf(l *programpb.Leg) (Outcome, bool) {
	known, ok := outcomes[reflect.TypeOf(l.GetOutcome())]
	return known, ok
}
