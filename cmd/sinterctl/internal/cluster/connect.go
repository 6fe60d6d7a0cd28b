package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Flags choose the cluster, as kubectl's do.
type Flags struct {
	// Timeout of a request if the user gives none; empty: requestTimeout.
	Timeout   string
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// requestTimeout is as long as a request may take. An API server that takes a connection and never answers would keep the command for ever.
const requestTimeout = "30s"

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "file that says how to reach clusters")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.Timeout.Default = cmp.Or(f.Timeout, requestTimeout)
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
}

// Contexts are those of the kubeconfig, sorted; none if it cannot be read.
func (f *Flags) Contexts() []string {
	config, err := f.rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Connect makes the client; nothing is asked of the cluster yet.
func (f *Flags) Connect() (*Cluster, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster is configured: give --kubeconfig or --server, or set KUBECONFIG")
	}
	if err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // a person waits
	ctrllog.SetLogger(logr.Discard())  // else it complains that nobody did
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{Client: c, Namespace: namespace, Pods: pods{set, config}, Now: time.Now}, nil
}

// logLines is how much of a log's end is told.
const logLines = 2000

type pods struct {
	set    kubernetes.Interface
	config *rest.Config
}

// Log implements Pods.
func (p pods) Log(ctx context.Context, pod client.ObjectKey, container string, previous bool) ([]byte, error) {
	return p.set.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: ptr.To[int64](logLines),
	}).DoRaw(ctx)
}

// maxComplaint is how much is kept of what a command says before it fails.
const maxComplaint = 4096

// Exec implements Pods.
func (p pods) Exec(ctx context.Context, pod client.ObjectKey, container string, command []string, in io.Reader, out io.Writer) error {
	url := p.set.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: true, Stdout: true, Stderr: true}, clientgoscheme.ParameterCodec).
		URL()
	config := rest.CopyConfig(p.config)
	config.Timeout = 0 // it ends when the user wants it to
	// WebSockets, or SPDY where an API server or a proxy before it knows no better.
	sockets, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		return err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewFallbackExecutor(sockets, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	var complaint tail
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &complaint})
	if text := strings.TrimSpace(string(complaint)); err != nil && text != "" {
		return fmt.Errorf("%s: %w", text, err)
	}
	return err
}

// tail is the end of what is written to it.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-maxComplaint):]
	return len(b), nil
}
