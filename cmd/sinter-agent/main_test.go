package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control"
)

// TestMain lets a test start this program as what it is.
func TestMain(m *testing.M) {
	if os.Getenv("SINTER_AGENT_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), "SINTER_AGENT_MAIN=1")
	return c
}

// fails runs a command that must fail, and returns what it says.
func fails(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t, args...).CombinedOutput()
	if err == nil {
		t.Fatalf("%s: succeeds: %s", args, out)
	}
	return string(out)
}

func TestBindPrintsTheEnginesFlags(t *testing.T) {
	status := filepath.Join(t.TempDir(), "network-status")
	if err := os.WriteFile(status, []byte(`[{"name": "default/lan", "interface": "net1"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, "bind", "--workers", "1", "--network-status", status,
		"--interface", "in,network=default/lan", "--interface", "out,resource=intel.com/vf")
	c.Env = append(c.Env, "PCIDEVICE_INTEL_COM_VF=ffff:7f:1f.7")
	c.Stderr = t.Output() // notes, by how many CPUs the machine has
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "--bind in=net1 --bind out=ffff:7f:1f.7 --workers 1 --eal --lcores="; !strings.HasPrefix(string(out), want) {
		t.Errorf("got %s, want %s…", out, want)
	}
}

func TestNetworkStatusIsWaitedForAndItsAbsenceExplained(t *testing.T) {
	status := filepath.Join(t.TempDir(), "network-status")
	if err := os.WriteFile(status, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"bind", "--workers", "1", "--network-status", status, "--interface", "in,network=default/lan"}
	if got := fails(t, append(args, "--network-status-timeout", "10ms")...); !strings.Contains(got, "default/lan is not attached to the pod") {
		t.Errorf("got %s", got)
	}
	var out bytes.Buffer
	c := command(t, args...)
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := os.WriteFile(status, []byte(`[{"name": "default/lan", "interface": "net1"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.HasPrefix(out.String(), "--bind in=net1 ") {
		t.Errorf("got %v: %s", err, out.String())
	}
}

// silentCluster is a kubeconfig of a cluster whose API server does not answer.
func silentCluster(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("{clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnAgentThatIsStartedIsNotOfAPodThatIsBeingDrained(t *testing.T) {
	dir := t.TempDir()
	marker := folder(dir).draining()
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, "run", "--folder", dir, "--kubeconfig", silentCluster(t), "--namespace", "default", "--instance", "edge-0",
		"--probes-bind", "127.0.0.1:0", "--metrics-bind", "")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(marker)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the pod is being drained (%v), although its agent was started", err)
		}
	}
}

func TestWrongUsageIsExplained(t *testing.T) {
	for want, args := range map[string][]string{
		"wire \"wire1\": want the engine's device":              {"wires", "wire1"},
		"--interface: want one for each interface of the chain": {"bind"},
		"Set --instance and --namespace":                        {"run"},
		"engine: exec: \"no-such-engine\"":                      {"exec-engine", "--workers", "1", "--interface", "in,device=net_null0", "--", "no-such-engine"},
		"engine control socket":                                 {"probe", "--folder", t.TempDir()},
		`"10.0.0.300": want IP addresses with commas between`:   {"run", "--instance", "i", "--namespace", "n", "--kubeconfig", silentCluster(t), "--pod-addresses", "10.0.0.300"},
		"want addresses of the pod's interfaces: no interface has [192.0.2.77]": {
			"run", "--instance", "i", "--namespace", "n", "--kubeconfig", silentCluster(t), "--pod-addresses", "127.0.0.1,192.0.2.77",
		},
	} {
		if got := fails(t, args...); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", args, got, want)
		}
	}
}

func TestExecEngineBecomesAnEngineThatProbeAndDrainReach(t *testing.T) {
	engine := os.Getenv("SINTER_ENGINE")
	if engine == "" {
		engine = filepath.Join("..", "..", "dataplane", "engine", "build", "sinter-engine")
	}
	if _, err := os.Stat(engine); err != nil {
		t.Skipf("the engine is not built (%v): run make engine, or set SINTER_ENGINE", err)
	}
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if out, err := command(t, "drain", "--folder", dir).CombinedOutput(); err != nil { // of an engine before
		t.Fatalf("drain: %v: %s", err, out)
	}
	var log bytes.Buffer
	c := command(t, "exec-engine", "--folder", dir, "--workers", "1",
		"--interface", "in,device=net_null0,no-rx=1", "--interface", "out,device=net_null1,no-rx=1",
		"--", engine, "--no-huge", "--memory", "96", "--buffers", "2047", "--rx-desc", "64", "--tx-desc", "64", "--idle-sleep", "2000")
	c.Stderr = &log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var client *control.Client
	for deadline := time.Now().Add(20 * time.Second); client == nil; time.Sleep(20 * time.Millisecond) {
		if client, err = control.Dial(context.Background(), folder(dir).socket()); err != nil && time.Now().After(deadline) {
			_ = c.Process.Kill()
			t.Fatalf("%v\n%s", err, log.String())
		}
	}
	_ = client.Close()
	if _, err := os.Stat(folder(dir).draining()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pod is being drained (%v), although its engine was started", err)
	}
	for _, args := range [][]string{{"probe", "--folder", dir}, {"drain", "--folder", dir, "--quiet", "300ms"}} {
		if out, err := command(t, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
	for _, command := range []string{"trace", "top"} {
		if got := fails(t, command, "--folder", dir); !strings.Contains(got, "no program is loaded") {
			t.Errorf("%s: %s", command, got)
		}
		if got := fails(t, command, "--folder", dir, "--request", `{"classs": 1}`); !strings.Contains(got, "request of a ") {
			t.Errorf("%s of a misspelt request: %s", command, got)
		}
	}
	if text, err := os.ReadFile(folder(dir).binding()); err != nil || !strings.Contains(string(text), `"net_null0,no-rx=1"`) {
		t.Errorf("binding for the agent: %s (%v)", text, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the engine, told to end: %v\n%s", err, log.String())
	}
}
