// Package lower is the one list of the modules that have functions to lower. Package graph imports it: whoever builds a chain knows all functions.
package lower

import (
	_ "github.com/sinter-nfv/sinter/dataplane/module/balancer/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/connlimit/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/elements/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/firewall/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/inspect/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/limiter/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/monitor/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/napt/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/router/lower"
	_ "github.com/sinter-nfv/sinter/dataplane/module/stop/lower"
)
