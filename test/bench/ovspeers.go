package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/sinter-nfv/sinter/test/bench/ovs"
)

// ovsLimit is how long a pass may take. A flow that its caches do not know takes tens of microseconds.
const ovsLimit = 2 * time.Minute

// ovsSwitch is Open vSwitch, ready for passes.
type ovsSwitch struct {
	*ovs.Switch
	scratch string
	tracked int  // connections that there have to be
	fresh   bool // each pass begins without any
}

func (o *ovsSwitch) run(ctx context.Context, r replay) (*deviceReport, error) {
	ctx, cancel := context.WithTimeout(ctx, ovsLimit)
	defer cancel()
	if o.fresh {
		if err := o.Forget(ctx); err != nil {
			return nil, err
		}
	}
	report := filepath.Join(o.scratch, "report.json")
	if err := o.Measure(ctx, r.device(report), report); errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("a pass takes longer than %v", ovsLimit)
	} else if err != nil {
		return nil, err
	}
	if o.tracked > 0 {
		n, err := o.Connections(ctx)
		if err != nil {
			return nil, err
		}
		if n < o.tracked {
			return nil, tooFew(n, o.tracked)
		}
	}
	return readReport(report)
}

func (o *ovsSwitch) close() { o.Close() }

// ovsPeer is Open vSwitch with flows, which track connections or not.
func ovsPeer(name string, tracks bool, flows func() (string, error)) peer {
	return peer{"OVS " + name, func(ctx context.Context, b *bench, r *row) (forwarding, error) {
		if b.ovs == "" {
			return nil, errors.New("hack/ovs.sh could not fetch it")
		}
		text, err := flows()
		if err != nil {
			return nil, err
		}
		s, err := ovs.Open(ctx, ovs.Config{
			Folder: b.ovs, Scratch: filepath.Join(b.scratch, "ovs"), Plugin: b.plugin, Core: b.engine.core, Control: b.baseline.control, Flows: text, Start: start,
		})
		if err != nil {
			return nil, err
		}
		o := &ovsSwitch{Switch: s, scratch: b.scratch, fresh: r.traffic.once}
		if tracks && !o.fresh {
			o.tracked = r.traffic.tracked()
		}
		return o, nil
	}}
}

var ovsOnward = ovs.Onward(lastMAC, peerMAC)

// ovsRoutes is the flow of each route.
var ovsRoutes = ovsPeer("flows", false, func() (text string, err error) {
	list, err := fewRoutes()
	for _, p := range list {
		text += ovs.Route(p, ovsOnward)
	}
	return text, err
})

func ovsNAPT(flows int) peer {
	pool, _ := naptPool(0, flows)
	return ovsPeer("conntrack NAT", true, func() (string, error) { return "ip,actions=" + translated(pool) + "\n", nil })
}

func translated(pool netip.Prefix) string {
	low, high := ends(pool)
	return ovs.Translated(low.String(), high.String(), ovsOnward)
}

func ovsACL(file string) peer {
	return ovsPeer("flows", false, func() (string, error) {
		rules, err := aclRules(file)
		return ovs.ACL(rules, "in_port"), err
	})
}

func ovsISP(file string) peer {
	return ovsPeer("flows, conntrack NAT", true, func() (string, error) {
		rules, err := aclRules(file)
		return ovs.ACL(rules, translated(ispPool)), err
	})
}
