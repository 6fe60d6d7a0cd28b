package netns

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// startCheckedFarm has `sinterctl run` run the farm's sample with pairs of texts replaced. Its host reaches the servers past the chain, to check
// them.
func startCheckedFarm(t *testing.T, oldnew ...string) *farm {
	t.Helper()
	f, box := buildFarm(t)
	lab.Cable(t, lab.End{Space: box, Device: "checks", Address: "10.9.0.1/24"}, lab.End{Space: f.servers, Device: "eth1", Address: "10.9.0.2/24"})
	box.Run(t, "ip", "route", "add", "10.0.0.0/24", "via", "10.9.0.2")
	dir := t.TempDir()
	write(t, dir, "chain.yaml", strings.NewReplacer(oldnew...).Replace(f.sample))
	f.engine = lab.StartSinterctl(t, box, dir+"/chain.yaml", farmBinds)
	return f
}

// TestABackendThatDiesGetsNoNewConnections has a server go silent while clients come all the time, as curl does: one after the other. Those of
// the other server notice nothing, new ones fail until two checks have, and a connection of the dead one ends.
func TestABackendThatDiesGetsNoNewConnections(t *testing.T) {
	t.Parallel() // waits more than it works
	f := startCheckedFarm(t)
	kept := f.connectToBoth(t)
	mark := f.engine.Process.Mark()
	f.servers.Sysctl(t, "net.ipv4.conf.eth0.promote_secondaries", "1")
	f.servers.Run(t, "ip", "address", "del", firstHost+"/24", "dev", "eth0")
	f.servers.Run(t, "ip", "route", "replace", "default", "via", "10.0.0.1")
	died := time.Now()
	f.engine.Process.Said(t, mark, "lb/balancer: backend "+firstHost+" is down: 2 checks of "+firstHost+":80 failed")
	t.Logf("%s is found dead after %s", firstHost, time.Since(died).Round(time.Millisecond))
	lab.Until(t, lab.Patience, func() error { // the engine is told a moment later
		for range 60 {
			if err := f.askedOnce(secondHost); err != nil {
				return fmt.Errorf("a new connection, after %s is known to be dead: %w", firstHost, err)
			}
		}
		return nil
	})
	if name, err := asks(kept[secondHost]); err != nil || name != secondHost {
		t.Errorf("a connection of %s, after %s died: %s (%v)", secondHost, firstHost, name, err)
	}
	if name, err := asks(kept[firstHost]); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection of the dead %s: %q (%v), want a reset, by the server that its packets come to now", firstHost, name, err)
	}
	f.servers.Run(t, "ip", "address", "add", firstHost+"/24", "dev", "eth0")
	f.engine.Process.Said(t, mark, "lb/balancer: backend "+firstHost+" is up: 2 checks")
	lab.Until(t, lab.Patience, func() error { return f.askedOnce(firstHost) })
}

// askedOnce opens a connection as a client that waits for no more than a second, and fails unless a server replies.
func (f *farm) askedOnce(server string) (err error) {
	var c net.Conn
	f.clients.Do(func() { c, err = net.DialTimeout("tcp4", webVIP+":80", time.Second) })
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c, "who?"); err != nil {
		return err
	}
	name, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && name != server+"\n" {
		return fmt.Errorf("%q replies, want %s", name, server)
	}
	return err
}

// TestChecksThatReachNoBackendStopNoTraffic has checks go to a port at which no server listens.
func TestChecksThatReachNoBackendStopNoTraffic(t *testing.T) {
	f := startCheckedFarm(t, "tcp: {port: 80}", "http: {path: /live, port: 81}")
	f.engine.Process.Said(t, 0, "lb/balancer: no backend is up that takes new flows: all are used as if they were up")
	if got := f.spread(t, "tcp", webVIP+":80", 60); got[firstHost] < 20 || got[secondHost] < 5 || len(got) != 2 {
		t.Errorf("connections spread over %v, want two thirds at %s and one at %s", got, firstHost, secondHost)
	}
}
