package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

const officePath = "  path: [inside, fw, rt, nat, outside]\n"

// mistakes are changes of the office chain that must be refused: texts and what replaces them, and
// a part of what is said about it.
var mistakes = []struct {
	name string
	edit []string
	said string
}{
	{"a link to an unknown function", []string{"path: [inside, fw,", "path: [inside, fv,"}, `no interface or function is named "fv"`},
	{"a link to an unknown port", []string{officePath, officePath + "  links: [{from: fw.insid, to: rt.inside}]\n"}, `has no port "insid"`},
	{
		"a function that is linked to itself", []string{
			officePath, "  - {name: r1, router: {ports: [{name: a}, {name: b}, {name: c}, {name: d}]}}\n" +
				"  path: [fw, rt, nat, outside]\n" +
				"  links: [{from: inside, to: r1.a}, {from: r1.b, to: r1.c}, {from: r1.d, to: fw.inside}]\n",
		}, `links "r1" to itself`,
	},
	{"an unreachable function", []string{officePath, "  - {name: mon, monitor: {}}\n" + officePath}, "no packet gets to this function"},
	{
		"two links out of one port",
		[]string{officePath, officePath + "  links: [{from: fw.outside, to: nat.inside, direction: Forward}]\n"},
		"one port has one way out",
	},
	{
		"overlapping interface addresses", []string{
			"  functions:\n", "  - {name: more, address: 10.0.0.2/16}\n  functions:\n",
			officePath, officePath + "  links: [{from: more, to: fw.inside, direction: Forward}]\n",
		}, `overlaps 10.0.0.1/24 of interface "inside"`,
	},
	{"a NAT pool that holds an interface's address", []string{"[198.51.100.16-198.51.100.19]", "[198.51.100.0/28]"}, "holds the address 198.51.100.1"},
	{"an empty pool", []string{"[198.51.100.16-198.51.100.19]", "[]"}, "is empty"},
	{"a next hop that is not on-link", []string{"port: outside}", "port: outside, via: 192.0.2.1}"}, "is not on-link"},
	{"a reversed port range", []string{"from: Inside,", `from: Inside, protocol: tcp, destinationPorts: ["2000-1000"],`}, "the port range is reversed"},
	{
		"mixed address families in a rule",
		[]string{"from: Inside,", `from: Inside, source: [10.0.0.0/8], destination: ["2001:db8::/32"],`},
		"mixes IPv4 and IPv6",
	},
	{"an unknown field", []string{"from: Inside,", "form: Inside,"}, `did you mean "from"?`},
	{"a rule file that is not there", []string{"firewall: {", "firewall: {rulesFrom: {file: none.csv, format: CSV}, "}, "none.csv"},
	{"a rule file with a bad line", []string{"firewall: {", "firewall: {rulesFrom: {file: bad.csv, format: CSV}, "}, "bad.csv:3"},
	{"no YAML", []string{"spec:", "spec: ["}, "chain.yaml"},
}

func TestABadReloadLeavesTheRunningProgramUntouched(t *testing.T) {
	lab.Require(t)
	s := newSite(t)
	dir := t.TempDir()
	chain := write(t, dir, "chain.yaml", office)
	write(t, dir, "bad.csv", "action,source\nAccept,10.0.0.0/8\nPass,10.0.0.0/8\n")
	serveEcho(t, s.peer, officePeer+":"+echoPort)
	s.engine = lab.StartSinterctl(t, s.box, chain, officeBinds)
	running := s.engine.Running(t)
	talk := s.talk(t)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			mark := s.engine.Process.Mark()
			bad := strings.NewReplacer(m.edit...).Replace(office)
			if bad == office {
				t.Fatalf("the mistake changes nothing: %q is not in the chain", m.edit[0])
			}
			write(t, dir, "chain.yaml", bad)
			s.refused(t, mark, m.said, running)
			talk.goesOn(t)
		})
	}
	t.Run("the chain's file is gone", func(t *testing.T) {
		mark := s.engine.Process.Mark()
		if err := os.Remove(filepath.Join(dir, "chain.yaml")); err != nil {
			t.Fatal(err)
		}
		s.refused(t, mark, "chain.yaml", running)
		talk.goesOn(t)
	})
	t.Run("a program built for another version", func(t *testing.T) {
		p := lab.Compile(t, lab.Parse(t, write(t, t.TempDir(), "chain.yaml", office)))
		p.Schema++
		p.Encode(t)
		var refused *control.EngineError
		if _, err := s.engine.Client.Load(context.Background(), p.Encoded, p.Hash); !errors.As(err, &refused) {
			t.Errorf("a program of schema %d was answered with %v, want a refusal", p.GetSchema(), err)
		}
		if now := s.engine.Running(t); now != running {
			t.Errorf("the engine runs program %.12s, before it ran %.12s", now, running)
		}
		talk.goesOn(t)
	})
	t.Run("a prefix with host bits is taken with a warning, and after all mistakes a good chain is live", func(t *testing.T) {
		mark := s.engine.Process.Mark()
		write(t, dir, "chain.yaml", strings.Replace(office, "from: Inside,", "from: Inside, source: [10.0.0.10/24],", 1))
		s.engine.Process.Said(t, mark, "has host bits set")
		s.engine.Process.Said(t, mark, "reloaded:")
		if now := s.engine.Running(t); now == running {
			t.Errorf("the engine still runs program %.12s", running)
		}
		talk.goesOn(t)
	})
	talk.end(t)
}

// refused waits until sinterctl has refused a change, for the given cause, and checks that the program stayed.
func (s *site) refused(t *testing.T, mark int, said, running string) {
	t.Helper()
	p := s.engine.Process
	if line := p.Said(t, mark, "reload refused", "reloaded:", "the program is the same"); !strings.Contains(line, "reload refused") {
		t.Errorf("the change was not refused: %s", line)
	}
	p.Said(t, mark, said)
	if now := s.engine.Running(t); now != running {
		t.Errorf("the engine runs program %.12s, before it ran %.12s", now, running)
	}
}

// talk is a flow that asks without end, and wants every answer.
type talk struct {
	answers chan int
	stop    chan struct{}
	done    chan error
}

func (s *site) talk(t *testing.T) *talk {
	t.Helper()
	c, err := dial(s.host, "udp", officeHost+":6000", officePeer+":"+echoPort)
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{answers: make(chan int), stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		defer close(k.answers)
		defer c.Close()
		for n := 1; ; n++ {
			if err := c.answered(fmt.Appendf(nil, "question %d", n)); err != nil {
				k.done <- fmt.Errorf("question %d: %w", n, err)
				return
			}
			select {
			case k.answers <- n: // somebody looks
			case <-k.stop:
				k.done <- nil
				return
			default:
			}
		}
	}()
	return k
}

// goesOn wants answers to questions that are asked from now on.
func (k *talk) goesOn(t *testing.T) {
	t.Helper()
	for range 3 {
		if _, ok := <-k.answers; !ok {
			t.Fatalf("packets flow no more: %v", <-k.done)
		}
	}
}

func (k *talk) end(t *testing.T) {
	t.Helper()
	close(k.stop)
	if err := <-k.done; err != nil {
		t.Error(err)
	}
}
