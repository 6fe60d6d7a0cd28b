package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Flags choose the cluster, as kubectl's do.
type Flags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "file that says how to reach clusters")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
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
	return &Cluster{Client: c, Namespace: namespace, Pods: pods{set}, Now: time.Now}, nil
}

// logLines is how much of a log's end is told.
const logLines = 2000

type pods struct{ set kubernetes.Interface }

// Log implements Pods.
func (p pods) Log(ctx context.Context, pod client.ObjectKey, container string, previous bool) ([]byte, error) {
	return p.set.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: ptr.To[int64](logLines),
	}).DoRaw(ctx)
}

// ServerVersion implements Pods.
func (p pods) ServerVersion() (string, error) {
	v, err := p.set.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}
