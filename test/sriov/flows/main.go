// Command flows runs in the guest, beside an engine whose interfaces are TAP devices: it is all hosts on both sides of the chain. It sends
// packets of many flows, answers them, has shards moved meanwhile, and prints as JSON what the engine counted at each step. It judges nothing:
// that is for the test that reads it (test/sriov).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/test/packets"
)

type config struct {
	socket          string
	inside, outside string
	flows           int
	moved           int
	limit           time.Duration
	alone           string
}

func main() {
	var c config
	flag.StringVar(&c.socket, "socket", "/run/sinter/engine.sock", "the engine's control socket")
	flag.StringVar(&c.inside, "inside", "inside", "kernel side of the TAP device of the chain's interface inside")
	flag.StringVar(&c.outside, "outside", "outside", "the same of outside")
	flag.IntVar(&c.flows, "flows", 20000, "flows through the NAPT")
	flag.IntVar(&c.moved, "moved", 2, "shards to be moved, from shard 0 on")
	flag.DurationVar(&c.limit, "limit", 2*time.Minute, "how long the device's rules may take to be as shards' owners want them")
	flag.StringVar(&c.alone, "alone", "", "MAC address of the engine's port inside, a card's: have one flow's rule tried, and nothing else")
	flag.Parse()
	steps, err := run(context.Background(), c)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(steps)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flows:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) ([]Step, error) {
	engine, err := control.Dial(ctx, c.socket)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	in, err := open(c.inside)
	if err != nil {
		return nil, err
	}
	out, err := open(c.outside)
	if err != nil {
		return nil, err
	}
	s := &session{config: c, engine: engine, net: newNetwork(in, out, c.flows)}
	s.net.start()
	if c.alone == "" {
		return s.steps(ctx)
	}
	mac, err := net.ParseMAC(c.alone)
	if err != nil {
		return nil, fmt.Errorf("--alone: %w", err)
	}
	in.port = packets.MAC(mac)
	return s.alone(ctx)
}
