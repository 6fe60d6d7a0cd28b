package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/sinter-nfv/sinter/test/bench/acl"
	"github.com/sinter-nfv/sinter/test/bench/kernel"
)

// kernelLimit ends what the kernel's path measures: a rule set that is walked line by line takes tens of microseconds per packet.
const kernelLimit = 2 * time.Second

// kernelPath is the kernel's forwarding, with rules of nftables and routes.
type kernelPath struct {
	path    *kernel.Path
	config  kernel.Config
	tracked int  // connections that there have to be
	fresh   bool // each pass begins without any
}

func (k *kernelPath) run(_ context.Context, r replay) (*deviceReport, error) {
	q := kernel.Request{Capture: r.capture, Warmup: r.warmup, Measured: r.measured, Limit: kernelLimit, WarmUpAll: k.config.Sessions > 0}
	if !k.fresh {
		q.Warmup /= knownAfter // its first packet makes a flow known here
	}
	m, err := k.path.Replay(q)
	if err != nil {
		return nil, err
	}
	if m.Connections < k.tracked {
		return nil, tooFew(m.Connections, k.tracked)
	}
	d := &deviceReport{Received: m.Packets, Sent: m.Forwarded, Hz: r.hz}
	if k.config.Rules == kernel.Refuse() {
		d.Sent = m.Packets
	}
	d.Cycles.Values, d.Cycles.P50, d.Cycles.Mean = m.Packets, m.Median*r.hz/1e9, m.Mean*r.hz/1e9
	return d, nil
}

func (k *kernelPath) close() { k.path.Close() }

// kernelPeer is the kernel with a router's routes, or others, and what a function adds.
func kernelPeer(name string, add func(c *kernel.Config) error) peer {
	return peer{"kernel " + name, func(ctx context.Context, b *bench, r *row) (forwarding, error) {
		c := kernel.Config{
			Core: b.engine.core, InsideMAC: string(hopMAC(0)), Inside: insideAddress, Outside: outsideAddress,
			Neighbors: []kernel.Neighbor{{Address: nextHop, MAC: peerMAC}},
		}
		for _, p := range []string{"0.0.0.0/0", "198.18.0.0/15", "192.88.99.0/24"} {
			c.Routes = append(c.Routes, kernel.Route{Prefix: netip.MustParsePrefix(p), Via: nextHop})
		}
		if err := add(&c); err != nil {
			return nil, err
		}
		open := func() (*kernelPath, error) {
			path, err := kernel.Open(ctx, c, start)
			k := &kernelPath{path: path, config: c, fresh: r.traffic.once}
			if c.Sessions > 0 && !k.fresh {
				k.tracked = r.traffic.tracked()
			}
			return k, err
		}
		if !r.traffic.once {
			return open()
		}
		return once(func(ctx context.Context, r replay) (*deviceReport, error) { // one that knows no flow
			k, err := open()
			if err != nil {
				return nil, err
			}
			defer k.close()
			return k.run(ctx, r)
		}), nil
	}}
}

// kernelWith is the kernel with nftables' rules that track so many sessions.
func kernelWith(name, rules string, sessions int) peer {
	return kernelPeer(name, func(c *kernel.Config) error {
		c.Rules, c.Sessions = rules, sessions
		return nil
	})
}

var (
	kernelIn        = kernelWith("taking frames in", kernel.Refuse(), 0)
	kernelRoutes    = kernelWith("routing", "", 0)
	kernelFlowtable = orWhy(kernelWith("flowtable", kernel.Flowtable(), 10_000), "does the kernel lack CONFIG_NF_FLOW_TABLE?")
)

// orWhy adds to a peer's error what it may come from.
func orWhy(p peer, question string) peer {
	open := p.open
	p.open = func(ctx context.Context, b *bench, r *row) (forwarding, error) {
		f, err := open(ctx, b, r)
		if err != nil {
			err = fmt.Errorf("%w; %s", err, question)
		}
		return f, err
	}
	return p
}

func kernelNAPT(flows int) peer {
	pool, _ := naptPool(0, flows)
	return kernelWith("nftables snat", kernel.NAPT(pool), flows)
}

// kernelFirewall is a rule set in one of nftables' forms.
func kernelFirewall(form, file string, write func([]acl.Rule) string) peer {
	return kernelPeer("nftables "+form, func(c *kernel.Config) (err error) {
		c.Rules, err = kernelRules(file, write)
		return err
	})
}

// kernelISP is firewall, router and NAPT.
func kernelISP(file string, sessions int) peer {
	return kernelPeer("nftables verdict map, snat", func(c *kernel.Config) error {
		rules, err := kernelRules(file, kernel.Mapped)
		c.Rules, c.Sessions = rules+kernel.NAPT(ispPool), sessions
		return err
	})
}

func kernelRules(file string, write func([]acl.Rule) string) (string, error) {
	rules, err := aclRules(file)
	return write(rules), err
}

// kernelTable is the kernel with the Internet's routes, and with the rules of a file, if there is one.
func kernelTable(data, file string) peer {
	name := "routing"
	if file != "" {
		name = "nftables verdict map, routing"
	}
	return kernelPeer(name, func(c *kernel.Config) error {
		prefixes, err := table(data)
		if err != nil {
			return err
		}
		for _, p := range prefixes {
			if !strings.HasPrefix(p.String(), "203.0.113.") { // the network of the next hops is connected
				c.Routes = append(c.Routes, kernel.Route{Prefix: p, Via: nextHopAddress(hopOf(p))})
			}
		}
		for _, n := range nextHopNeighbors() {
			c.Neighbors = append(c.Neighbors, kernel.Neighbor{Address: string(n.Address), MAC: string(n.MAC)})
		}
		if file != "" {
			c.Rules, err = kernelRules(file, kernel.Mapped)
		}
		return err
	})
}
