package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const server = "203.0.113.254"

// report is what `traffic send` prints.
type report struct {
	Sent, Received, Lost, Doubled int
	Longest                       gap
	Gaps                          []gap
}

type gap struct {
	At, Lasts float64 // seconds
	Lost      int
}

// container is the name that containerd knows a container by.
func (w *world) container(pod, name string) string {
	w.Helper()
	var p corev1.Pod
	if err := w.api.Get(w.Context(), client.ObjectKey{Namespace: space, Name: pod}, &p); err != nil {
		w.Fatal(err)
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == name && s.State.Running != nil {
			return strings.TrimPrefix(s.ContainerID, "containerd://")
		}
	}
	w.Fatalf("pod %s: container %s does not run", pod, name)
	return ""
}

// task is a command about a container by way of containerd: it needs no API server.
func task(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", "hack/cluster/cluster.sh", append([]string{"in", "ctr", "--namespace", "k8s.io", "task"}, args...)...)
}

// kill sends a signal to the first process of a container.
func (w *world) kill(pod, container, signal string) {
	w.Helper()
	w.must(task(w.Context(), "kill", "--signal", signal, w.container(pod, container)))
}

// stream is numbered datagrams from the client to the server, which sends them back.
type stream struct {
	w      *world
	from   string // the client's container
	ends   time.Time
	result chan string
	failed chan error
}

// packetsPerSecond of a stream: what hosts that share a CPU with a whole control plane can keep up.
const packetsPerSecond = 500

// send begins a stream that lasts for a time.
func (w *world) send(lasts time.Duration) *stream {
	w.Helper()
	return w.sendFrom(w.container("client", "traffic"), packetsPerSecond, lasts)
}

func (w *world) sendFrom(container string, rate int, lasts time.Duration) *stream {
	s := &stream{w: w, from: container, result: make(chan string, 1), failed: make(chan error, 1)}
	ctx := context.WithoutCancel(w.Context())
	send := func(rate int, lasts time.Duration) (string, error) {
		return task(ctx, "exec", "--exec-id", fmt.Sprintf("send-%d", time.Now().UnixNano()), container, "/program", "send",
			"--to", server+":53", "--rate", fmt.Sprint(rate), "--for", lasts.String(), "--patience", "1s")
	}
	// A few before: while a neighbour's address is asked for, packets are lost as on any router.
	w.must(send(10, 200*time.Millisecond))
	s.ends = time.Now().Add(lasts)
	go func() {
		out, err := send(rate, lasts)
		if err != nil {
			s.failed <- err
			return
		}
		s.result <- out
	}()
	time.Sleep(time.Second) // it runs before anything happens to it
	return s
}

// end waits for the stream's end.
func (s *stream) end() *report {
	s.w.Helper()
	select {
	case err := <-s.failed:
		s.w.Fatal(err)
	case out := <-s.result:
		var r report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			s.w.Fatalf("report %q: %v", out, err)
		}
		s.w.Logf("%d sent, %d lost, longest gap %.2f s", r.Sent, r.Lost, r.Longest.Lasts)
		if r.Sent < packetsPerSecond {
			s.w.Fatalf("only %d datagrams were sent", r.Sent)
		}
		return &r
	case <-time.After(time.Until(s.ends) + 2*time.Minute):
		s.w.Fatal("the stream does not end")
	}
	return nil
}

// lossless tells that every datagram came back, once.
func (s *stream) lossless(what string) {
	s.w.Helper()
	if r := s.end(); r.Lost > 0 || r.Doubled > 0 {
		s.w.Errorf("%s: %d of %d datagrams are lost, %d doubled: %+v", what, r.Lost, r.Sent, r.Doubled, r.Gaps)
	}
}

// fetch reads bytes from a port of the server by TCP.
func (w *world) fetch(port, bytes int) error {
	_, err := w.try("exec", "client", "--", "/program", "fetch", "--from", fmt.Sprintf("%s:%d", server, port), "--bytes", fmt.Sprint(bytes), "--patience", "2s")
	return err
}
