package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// podInNamespaces is a pod with an agent, as the cluster and one of its chain's networks see it. The network gave the pod an address, too.
type podInNamespaces struct{ pod, node, host *lab.Space }

func startPod(t *testing.T) podInNamespaces {
	t.Helper()
	lab.Require(t, "ip", "ethtool", "setpriv")
	p := podInNamespaces{pod: lab.New(t, "pod"), node: lab.New(t, "node"), host: lab.New(t, "host")}
	lab.Cable(t, lab.End{Space: p.pod, Device: "eth0", Address: "10.0.0.2/24"}, lab.End{Space: p.node, Device: "veth0", Address: "10.0.0.1/24"})
	lab.Cable(t, lab.End{Space: p.pod, Device: "net1", Address: "192.0.2.1/24"}, lab.End{Space: p.host, Device: "eth0", Address: "192.0.2.9/24"})
	p.host.Run(t, "ip", "route", "add", "10.0.0.0/24", "via", "192.0.2.1")
	args := append(lab.Contained(), os.Args[0], "run", "--folder", t.TempDir(), "--kubeconfig", silentCluster(t), "--namespace", "default", "--instance", "edge-0")
	c := p.pod.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "SINTER_AGENT_MAIN=1", "POD_IPS=10.0.0.2")
	if err := p.pod.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for _, port := range []string{"8081", "9090"} { // each until it answers once: a source has only so many connections
		lab.Until(t, lab.Patience, func() error { return answers(t, p.node, "10.0.0.2:"+port) })
	}
	return p
}

// answers wants a server's first byte; one of TLS refuses the request.
func answers(t *testing.T, from *lab.Space, to string) error {
	t.Helper()
	return connects(t, from, to, func(c net.Conn) error {
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Write([]byte("GET /livez HTTP/1.0\r\n\r\n")); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 1))
		return err
	})
}

// connects connects from a namespace, has something done with the connection, and ends it.
func connects(t *testing.T, from *lab.Space, to string, use func(net.Conn) error) error {
	t.Helper()
	var err error
	from.Do(func() {
		var c net.Conn
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if c, err = (&net.Dialer{}).DialContext(ctx, "tcp", to); err == nil {
			defer c.Close()
			err = use(c)
		}
	})
	return err
}

func TestTheAgentsPortsAreForTheClusterAndNotForTheChainsNetworks(t *testing.T) {
	p := startPod(t)
	for _, port := range []string{"8081", "9090"} {
		if err := errors.Join(answers(t, p.node, "10.0.0.2:"+port), answers(t, p.pod, "127.0.0.1:"+port), answers(t, p.pod, "10.0.0.2:"+port)); err != nil {
			t.Errorf("port %s does not answer the node, or the pod itself as kubectl port-forward does: %v", port, err)
		}
		for _, address := range []string{"10.0.0.2", "192.0.2.1"} {
			if err := connects(t, p.host, fmt.Sprintf("%s:%s", address, port), func(net.Conn) error { return nil }); err == nil {
				t.Errorf("a host of the chain's network connects to %s:%s", address, port)
			}
		}
	}
}
