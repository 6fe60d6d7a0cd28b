// Package rules is the one list of the modules that have rules for packet programs. Package program imports it: whoever reads or
// writes programs has the rules of all functions.
package rules

import (
	_ "github.com/sinter-nfv/sinter/dataplane/module/balancer/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/connlimit/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/firewall/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/inspect/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/limiter/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/monitor/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/napt/rules"
	_ "github.com/sinter-nfv/sinter/dataplane/module/stop/rules"
)
