// Package oracle is the one list of the modules that have a meaning for the oracle. Package interp imports it: whoever runs a chain has
// the elements of all functions.
package oracle

import (
	_ "github.com/sinter-nfv/sinter/dataplane/module/balancer/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/connlimit/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/firewall/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/inspect/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/limiter/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/monitor/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/napt/oracle"
	_ "github.com/sinter-nfv/sinter/dataplane/module/stop/oracle"
)
