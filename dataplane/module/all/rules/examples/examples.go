// Package examples is the one list of all modules' examples of rules.
package examples

import (
	"slices"

	balancer "github.com/sinter-nfv/sinter/dataplane/module/balancer/rules/examples"
	connlimit "github.com/sinter-nfv/sinter/dataplane/module/connlimit/rules/examples"
	firewall "github.com/sinter-nfv/sinter/dataplane/module/firewall/rules/examples"
	inspect "github.com/sinter-nfv/sinter/dataplane/module/inspect/rules/examples"
	limiter "github.com/sinter-nfv/sinter/dataplane/module/limiter/rules/examples"
	monitor "github.com/sinter-nfv/sinter/dataplane/module/monitor/rules/examples"
	napt "github.com/sinter-nfv/sinter/dataplane/module/napt/rules/examples"
	stop "github.com/sinter-nfv/sinter/dataplane/module/stop/rules/examples"
)

// Programs are the examples of all modules.
var Programs = slices.Concat(inspect.Programs, limiter.Programs, balancer.Programs, firewall.Programs, napt.Programs, monitor.Programs, connlimit.Programs,
	stop.Programs, stop.Bypasses, stop.Assigns)
