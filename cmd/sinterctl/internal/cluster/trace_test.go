package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/capture"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/enginetest"
	"github.com/sinter-nfv/sinter/dataplane/control"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

// node is a node's kubelet and container runtime as far as exec goes: in the agents' containers it runs what sinter-agent trace is,
// on the engine of the pod.
type node struct {
	sockets map[string]string // by pod
}

// ExecInContainer implements remotecommand.Executor.
func (n *node) ExecInContainer(ctx context.Context, pod, _, container string, command []string, in io.Reader, out, complaints io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if container != v1alpha1.ContainerAgent || len(command) != 4 || !slices.Equal(command[:3], []string{"sinter-agent", "trace", "--request"}) {
		return errors.New("executable file not found")
	}
	err := control.RelayTrace(ctx, n.sockets[pod], command[3], in, out)
	if err != nil {
		_, _ = io.WriteString(complaints, "sinter-agent: "+err.Error()+"\n")
	}
	return err
}

// ServeHTTP serves exec by SPDY, as container runtimes do.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := strings.Split(r.URL.Path, "/")
	remotecommand.ServeExec(w, r, n, part[len(part)-2], "", r.URL.Query().Get("container"), r.URL.Query()["command"],
		&remotecommand.Options{Stdin: true, Stdout: true, Stderr: true}, time.Minute, time.Minute, remotecommand.SupportedStreamingProtocols)
}

// apiServer hands WebSockets on to the node, as the real one does.
func apiServer(t *testing.T, n *node) http.Handler {
	t.Helper()
	kubelet := httptest.NewServer(n)
	t.Cleanup(kubelet.Close)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := url.Parse(kubelet.URL + r.URL.RequestURI())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		proxy.NewStreamTranslatorHandler(to, nil, 0, proxy.Options{Stdin: true, Stdout: true, Stderr: true}).ServeHTTP(w, r)
	})
}

// tracedWorld is a world whose first instance has an engine, and whose second has none that answers.
func tracedWorld(t *testing.T, handler func(*node) http.Handler) *world {
	t.Helper()
	w := newWorld(t)
	running, err := delivery.Unpack(w.programs[2])
	if err != nil {
		t.Fatal(err)
	}
	socket := enginetest.Run(t, "../../../../dataplane/engine/build", running.Program, running.Hash,
		enginetest.UDP(0x0a000002, 0xcb007105, 5000, 53), enginetest.UDP(0x0a000002, 0x0a000001, 5000, 53))
	server := httptest.NewServer(handler(&node{map[string]string{"office-0": socket, "office-1": socket + ".gone"}}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	w.Pods = pods{kubernetes.NewForConfigOrDie(config), config}
	return w
}

// heard is what is said, by several at once.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) say(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

// frames counts a capture's frames by interface, and gives the comments of the first.
func frames(t *testing.T, file []byte) (by map[string]int, comments string) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	by = map[string]int{}
	for {
		_, ci, opts, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			return by, comments
		}
		if err != nil {
			t.Fatal(err)
		}
		intf, err := r.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		if len(by) == 0 {
			comments = strings.Join(opts.Comments, "\n")
		}
		by[intf.Name]++
	}
}

var local = &controlpb.StartTrace{
	Classes: []*controlpb.TraceClasses{{Segment: "from inside", Classes: []uint32{0}}}, MaxPackets: 5, DurationNs: uint64(10 * time.Minute),
}

func TestATraceComesFromThePodsAndWhatOneCannotDoIsTold(t *testing.T) {
	for name, handler := range map[string]func(*node) http.Handler{
		"by WebSockets through the API server": func(n *node) http.Handler { return apiServer(t, n) },
		"by SPDY where nothing else is spoken": func(n *node) http.Handler { return n },
	} {
		t.Run(name, func(t *testing.T) {
			w := tracedWorld(t, handler)
			var b bytes.Buffer
			var h heard
			err := w.Trace(t.Context(), capture.NewFile(&b, "test"), "office", nil, local, h.say)
			if err == nil || !strings.Contains(err.Error(), "instance office-1: ") || !strings.Contains(err.Error(), "engine control socket") {
				t.Errorf("of office-1: %v, want what its agent said", err)
			}
			if len(h.lines) != 1 || !strings.HasPrefix(h.lines[0], "instance office-0: traced 5 packets: it has as many packets as were asked for") {
				t.Errorf("it said %q", h.lines)
			}
			by, comments := frames(t, b.Bytes())
			if by["office-0/inside in"] != 5 {
				t.Errorf("frames: %v, want 5 of office-0/inside in", by)
			}
			if !strings.Contains(comments, "segment from inside, class 0: → whole echo requests: answer: echo reply, ") {
				t.Errorf("comments: %q, want what the class does", comments)
			}
		})
	}
}

func TestATraceThatIsStoppedIsReceivedToItsEnd(t *testing.T) {
	w := tracedWorld(t, func(n *node) http.Handler { return apiServer(t, n) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := &once{W: new(bytes.Buffer), then: cancel}
	var h heard
	want := &controlpb.StartTrace{MaxPackets: 1_000_000, OneIn: 1000, DurationNs: uint64(10 * time.Minute)}
	if err := w.Trace(ctx, capture.NewFile(first, "test"), "office", []string{"office-0"}, want, h.say); err != nil {
		t.Fatal(err)
	}
	if len(h.lines) != 1 || !strings.Contains(h.lines[0], "packets: it was stopped") {
		t.Errorf("it said %q", h.lines)
	}
	if by, _ := frames(t, first.W.Bytes()); by["office-0/inside in"] == 0 {
		t.Errorf("frames: %v, want some of office-0/inside in", by)
	}
}

// once does something when the first frames are written.
type once struct {
	W    *bytes.Buffer
	then func()
}

// Write implements io.Writer.
func (o *once) Write(b []byte) (int, error) {
	if o.W.Len() > 1024 { // the interfaces are there
		o.then()
	}
	return o.W.Write(b)
}

func TestATraceOfWhatIsNotThereOrNotAllowedSaysSo(t *testing.T) {
	w := newWorld(t)
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `pods "office-0" is forbidden: User "eve" cannot create resource "pods/exec"`, http.StatusForbidden)
	}))
	t.Cleanup(forbidden.Close)
	config := &rest.Config{Host: forbidden.URL}
	w.Pods = pods{kubernetes.NewForConfigOrDie(config), config}
	for want, names := range map[string][]string{
		`no instance "office-7"`:   {"office-7"},
		"is forbidden: User \"eve": {"office-0"},
	} {
		file := capture.NewFile(io.Discard, "test")
		err := w.Trace(t.Context(), file, "office", names, local, func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) || file.Begun() {
			t.Errorf("got %v, want an error with %q and nothing in the file", err, want)
		}
	}
}
