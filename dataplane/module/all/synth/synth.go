// Package synth is the one list of the modules that have a meaning on sets of packets. Package dataplane/synth imports it: whoever
// synthesizes a chain has the elements of all functions.
package synth

import (
	_ "github.com/sinter-nfv/sinter/dataplane/module/balancer/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/connlimit/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/firewall/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/inspect/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/limiter/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/monitor/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/napt/synth"
	_ "github.com/sinter-nfv/sinter/dataplane/module/stop/synth"
)
