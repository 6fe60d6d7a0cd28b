package hostile_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/agenttest"
	"github.com/sinter-nfv/sinter/test/free"
	"github.com/sinter-nfv/sinter/test/hostile"
	"github.com/sinter-nfv/sinter/test/netns/lab"
)

// The limits of an agent's container (controllers/chaininstance/pod.go), and how the kubelet asks whether it is ready.
const (
	agentMillis, agentMemory = 50, 96 << 20
	kubeletPeriod            = 2 * time.Second
	kubeletPatience          = 5 * time.Second
	kubeletFailures          = 3 // in a row, until the pod is not ready
)

func TestTwentyPodsSilenceNoAgentThatHasItsPodsLimits(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	pace := hostile.Pace(t)
	processor, memory := hostile.NewProcessor(t, int64(agentMillis*pace)), hostile.NewMemory(t, agentMemory)
	env, admin := agenttest.StartAPI(t)
	first, second := agenttest.Program(t, "first", "in", "out"), agenttest.Program(t, "second", "in", "out")
	for _, o := range []client.Object{agenttest.ChainProgram(t, "edge-1", first), agenttest.ChainProgram(t, "edge-2", second), agenttest.Instance("edge-1")} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	dir := agenttest.Folder(t)
	agenttest.Start(t, filepath.Join(dir, "engine.sock"), agenttest.Quiet)
	a := startAgent(t, dir, env.KubeConfig, func(pid int) { processor.Hold(t, pid); memory.Hold(t, pid) })
	agenttest.Eventually(t, a.asks)

	stop := a.attacked(t)
	defer stop()
	worst, failures := time.Duration(0), 0
	for range 2 * kubeletFailures {
		began := time.Now()
		err := a.asks()
		took := time.Since(began)
		worst = max(worst, took)
		if failures++; err == nil {
			failures = 0
		} else if failures == kubeletFailures {
			t.Fatalf("the kubelet takes the pod for unready: it is not answered within %s %d times in a row: %v", kubeletPatience, failures, err)
		}
		time.Sleep(max(0, kubeletPeriod-took))
	}
	agenttest.Change(t, admin, func(spec *v1alpha1.ChainInstanceSpec) { spec.Program = "edge-2" })
	began := time.Now()
	agenttest.Eventually(t, func() error {
		var i v1alpha1.ChainInstance
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "edge-0"}, &i); err != nil {
			return err
		}
		return agenttest.Wants(i.Status.AppliedHash, second)
	})
	t.Logf("on a machine %.1f times as slow as usual, the kubelet was answered within %s; another program was reported after %s; %d MiB", pace, worst.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), memory.Used(t)>>20)
}

// agent is an agent's addresses.
type agent struct{ probes, metrics, peers string }

// attacked has twenty pods do harm as fast as they can, and a hundred more within what one source may, until stop.
func (a *agent) attacked(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	keeps := func(source net.IP, pause time.Duration, attacks ...func(context.Context, *net.Dialer)) {
		for _, attack := range attacks {
			all.Go(func() {
				from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: source}, Timeout: time.Second}
				for ctx.Err() == nil {
					attack(ctx, from)
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			})
		}
	}
	for pod := range byte(20) {
		keeps(net.IPv4(127, 1, 0, 1+pod), 0, a.idles, shakes(a.metrics), shakes(a.peers), a.forges)
	}
	for pod := range byte(100) {
		keeps(net.IPv4(127, 2, 0, 1+pod), time.Second, a.idles, shakes(a.metrics), shakes(a.peers))
	}
	return func() { cancel(); all.Wait() }
}

// asks asks whether the agent is ready, as the kubelet does.
func (a *agent) asks() error {
	c := &http.Client{Timeout: kubeletPatience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + a.probes + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}

// idles opens connections to probes, and says nothing.
func (a *agent) idles(ctx context.Context, from *net.Dialer) {
	c, err := from.DialContext(ctx, "tcp", a.probes)
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
}

// shakes makes TLS handshakes.
func shakes(address string) func(context.Context, *net.Dialer) {
	return func(ctx context.Context, from *net.Dialer) {
		c, err := from.DialContext(ctx, "tcp", address)
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
	}
}

// forges asks for metrics with a token that nobody gave.
func (a *agent) forges(ctx context.Context, from *net.Dialer) {
	c := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
		DialContext: from.DialContext, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+a.metrics+"/metrics", nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 100)+fmt.Sprint(time.Now().UnixNano()))
	if resp, err := c.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// startAgent starts the agent's own command, which hold puts under limits before it does anything.
func startAgent(t *testing.T, dir string, credentials []byte, hold func(pid int)) *agent {
	t.Helper()
	program := filepath.Join(dir, "sinter-agent")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/sinter-agent").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	kubeconfig, secret := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "secret")
	for file, text := range map[string][]byte{kubeconfig: credentials, secret: bytes.Repeat([]byte("s"), 32)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &agent{free.Address(t), free.Address(t), free.Address(t)}
	args := append(lab.Contained(), program, "run", "--folder", dir, "--instance", "edge-0", "--namespace", "default", "--node", "n", "--kubeconfig", kubeconfig,
		"--probes-bind", a.probes, "--metrics-bind", a.metrics, "--peers-bind", a.peers, "--chain-secret", secret)
	cmd := exec.Command(args[0], args[1:]...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hold(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, _ := os.ReadFile(filepath.Join(dir, "log")); t.Failed() {
			t.Logf("the agent's log:\n%s", text)
		}
	})
	return a
}
