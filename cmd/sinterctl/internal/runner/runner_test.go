package runner

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/engine"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/live"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

const (
	engineDir = "../../../../dataplane/engine/build"
	office    = "../../testdata/office.yaml"
	patience  = 20 * time.Second
)

// hashes is a view that tells which program runs.
type hashes chan string

func (h hashes) Show(_ *programpb.Program, _, now *controlpb.Stats) error {
	h <- hex.EncodeToString(now.GetHash())
	return nil
}

// rig is a running chain and the file that it is read from.
type rig struct {
	t      *testing.T
	file   string
	text   string
	hashes hashes
	said   chan string
	reload chan os.Signal
	warned atomic.Pointer[func()] // called at the next warning, before it is told
	config Config
}

func start(t *testing.T) *rig {
	t.Helper()
	return startWith(t, false)
}

func startWith(t *testing.T, watched bool) *rig {
	t.Helper()
	if _, err := engine.Find("sinter-engine", engineDir); err != nil {
		t.Skipf("the engine is not built (make engine): %v", err)
	}
	text, err := os.ReadFile(office)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &rig{
		t: t, file: filepath.Join(dir, "chain.yaml"), text: string(text),
		hashes: make(hashes), said: make(chan string, 100), reload: make(chan os.Signal),
	}
	r.write(r.text)
	c := Config{
		Input: compile.Input{Paths: []string{r.file}}, Every: 20 * time.Millisecond, View: r.hashes, Watch: watched,
		Binds: map[string]string{"inside": "net_null0,no-rx=1", "outside": "net_null1,no-rx=1"},
		Engine: engine.Config{
			Dir: engineDir, Socket: filepath.Join(dir, "engine.sock"), Workers: 1, NoHuge: true,
			EAL: []string{"--no-pci", "--no-telemetry"}, Log: t.Output(),
		},
		Say: func(format string, args ...any) {
			if strings.HasPrefix(format, "warning: ") {
				if do := r.warned.Swap(nil); do != nil {
					(*do)()
				}
			}
			r.said <- fmt.Sprintf(format, args...)
		},
	}
	r.config = c
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, c, r.reload) }()
	t.Cleanup(func() {
		cancel()
		for {
			select {
			case <-r.hashes: // the last view
			case err := <-done:
				if err != nil {
					t.Errorf("the chain did not stop cleanly: %v", err)
				}
				return
			}
		}
	})
	r.expect("running chain office")
	return r
}

func (r *rig) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// runs is the hash of the program that runs now, by a view that begins now.
func (r *rig) runs() string {
	r.t.Helper()
	<-r.hashes
	return <-r.hashes
}

// hup has the file read again, with views going on.
func (r *rig) hup() {
	for {
		select {
		case r.reload <- os.Interrupt:
			return
		case <-r.hashes:
		}
	}
}

// readAgain tells what is said of a file that is read once more than it changed, or once more as it changed: that depends on the time.
func readAgain(says string) bool {
	return says == "reload: the program is the same" || strings.Contains(says, " changed while it was read, ")
}

// runsWhatIsWritten checks that the program that runs is that of the file.
func (r *rig) runsWhatIsWritten() {
	r.t.Helper()
	want, err := compile.Files(compile.Input{Paths: []string{r.file}})
	if err != nil {
		r.t.Fatal(err)
	}
	if now := r.runs(); now != want.Hash {
		r.t.Errorf("program %s runs, want the file's %s", now, want.Hash)
	}
}

// expect waits until something is said, with views going on. What is said of a file that is read again is skipped, unless it is expected.
func (r *rig) expect(words ...string) {
	r.t.Helper()
	over := time.After(patience)
	for {
		select {
		case s := <-r.said:
			if readAgain(s) && slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s, w) }) {
				continue
			}
			for _, w := range words {
				if !strings.Contains(s, w) {
					r.t.Errorf("it said %q, want %q", s, w)
				}
			}
			return
		case <-r.hashes:
		case <-over:
			r.t.Fatalf("it did not say %q", words)
		}
	}
}

func TestTheRunningProgramIsUntouchedByABadChain(t *testing.T) {
	r := start(t)
	before := r.runs()
	for name, c := range map[string]struct{ old, new, says string }{
		"not YAML":                 {"spec:", "spec: [", "chain.yaml"},
		"unknown field":            {"gateway:", "gatway:", "gatway"},
		"unknown function":         {"[inside, fw,", "[inside, fv,", "fv"},
		"NAT pool on an interface": {"198.51.100.16-198.51.100.31", "198.51.100.2", "198.51.100.2"},
		"reversed port range":      {"destinationPorts: [25]", `destinationPorts: ["30-25"]`, "30-25"},
		"no route's next hop":      {"port: outside }", "port: outside, via: 192.0.2.9 }", "192.0.2.9"},
		"unknown action":           {"action: Reject", "action: Deny", "Deny"},
		"rule file not found":      {"firewall:", "firewall:\n        rulesFrom: { file: none.csv, format: CSV }", "none.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(r.text, c.old, c.new, 1)
			if bad == r.text {
				t.Fatalf("the chain has no %q", c.old)
			}
			r.t = t
			r.write(bad)
			r.hup()
			r.expect("the running program is untouched", c.says)
			if now := r.runs(); now != before {
				t.Errorf("program %s runs, want %s as before", now, before)
			}
		})
	}
	r.t = t
}

func TestAChangedChainIsLiveAfterAReload(t *testing.T) {
	r := start(t)
	r.write(strings.Replace(r.text, "[25]", "[25, 465]", 1))
	r.hup()
	r.expect("reloaded: ")
	r.runsWhatIsWritten()
	r.hup()
	r.expect("the program is the same")
}

func TestARunningEngineIsNotTakenOver(t *testing.T) {
	r := start(t)
	before := r.runs()
	c := r.config
	c.View, c.For = live.Quiet{}, time.Second
	if err := Run(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "another engine listens (process ") {
		t.Errorf("got %v, want that another engine listens on the socket", err)
	}
	if now := r.runs(); now != before {
		t.Errorf("program %s runs, want %s as before", now, before)
	}
}

func TestFilesOfARefusedChainAreWatched(t *testing.T) {
	r := startWith(t, true)
	r.write(strings.Replace(r.text, "firewall:", "firewall:\n        rulesFrom: { file: rules/acl.csv, format: CSV }", 1))
	r.expect("the running program is untouched", "acl.csv")
	acl := filepath.Join(filepath.Dir(r.file), "rules", "acl.csv")
	if err := os.Mkdir(filepath.Dir(acl), 0o700); err != nil {
		t.Fatal(err)
	}
	r.expect("the running program is untouched", "acl.csv") // the folder came
	if err := os.WriteFile(acl, []byte("action,protocol\nAcept,tcp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.expect("the running program is untouched", "Acept")
	if err := os.WriteFile(acl, []byte("action,protocol\nAccept,tcp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.expect("warning: ", "chain.yaml:", "fw/inside ", "acl.csv:2: never decides a packet")
	r.expect("warning: ", "chain.yaml:", "fw/outside ", "acl.csv:2: never decides a packet")
	r.expect("reload: the program is the same")
}

// A file that is read while somebody writes may be half a rule set, and a half of it may be a good chain, which passes what the whole denies.
func TestAChainThatChangedWhileItWasReadIsNotLoaded(t *testing.T) {
	for name, watched := range map[string]bool{"watched": true, "by SIGHUP": false} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, watched)
			before := r.runs()
			never := "- { name: never, from: Inside, protocol: tcp, destinationPorts: [25], action: Accept }\n          - { name: out, "
			half, whole := strings.Replace(r.text, "- { name: out, ", never, 1), strings.Replace(r.text, "[25]", "[25, 465]", 1)
			warned := func() { r.write(whole) } // it has been read, and is not loaded yet
			r.warned.Store(&warned)
			r.write(half)
			if !watched {
				r.hup()
			}
			r.expect("warning: ", "never")
			r.expect(" changed while it was read, the running program is untouched", "chain.yaml")
			if !watched {
				if now := r.runs(); now != before {
					t.Errorf("program %s runs, want %s as before", now, before)
				}
				r.hup()
			}
			r.expect("reloaded: ")
			r.runsWhatIsWritten()
		})
	}
}
