// Package oracle is the one list of the modules that have a meaning for the oracle. Package interp imports it: whoever runs a chain has
// the elements of all functions.
package oracle

import (
	_ "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
)
