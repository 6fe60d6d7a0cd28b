package load

import (
	"fmt"

	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// Elephant is a shard that is too heavy for a core. More cores do not help it.
type Elephant struct {
	Shard shard.ID
	Work  float64 // wanted, in cores
	Limit float64 // above which it is too heavy
	// Flow is the flow that is to blame, with the work that is wanted for it; empty if
	// the weight is many flows', or not known whose.
	Flow     string
	FlowWork float64
}

// String says what is too heavy and what that means.
func (e Elephant) String() string {
	text := fmt.Sprintf("shard %s wants %.2f of a core, more than a core should give one shard (%.2f)", e.Shard, e.Work, e.Limit)
	if e.Flow == "" {
		return text
	}
	return fmt.Sprintf("%s; %.2f of that is the flow %s, which cannot be divided", text, e.FlowWork, e.Flow)
}
