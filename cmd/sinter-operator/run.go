package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/stores"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/caching"
	"github.com/sinter-nfv/sinter/controllers/chaininstance"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/controllers/confined"
	"github.com/sinter-nfv/sinter/controllers/networkfunction"
	"github.com/sinter-nfv/sinter/controllers/queue"
	"github.com/sinter-nfv/sinter/controllers/servicechain"
	"github.com/sinter-nfv/sinter/controllers/servicechain/desired"
	"github.com/sinter-nfv/sinter/controllers/source"
	"github.com/sinter-nfv/sinter/controllers/webhook"
)

// One replica leads; the others wait for its lease, which they ask for in these namespaced roles.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=sinter-system
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch,namespace=sinter-system
// The API server authenticates and authorizes readers of metrics.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// options are the operator's flags.
type options struct {
	pods            chaininstance.PodOptions
	pullPolicy      string
	policy          compile.Policy
	leaderElect     bool
	leaderNamespace string
	probes          string
	metrics         string
	metricsCertPath string
	webhookCertPath string
	webhookPort     int
	workers         int
	qps             float32
	stores          []string
	compiles        int
	compileTime     time.Duration
	isolation       desired.Isolation
	metricsFrom     string
	metricsReader   string
}

func (o *options) flags(f *pflag.FlagSet) {
	f.StringVar(&o.pods.Image, "dataplane-image", "", "image of data-plane pods, with engine and agent")
	f.StringVar(&o.pullPolicy, "dataplane-image-pull-policy", "IfNotPresent", "Always, IfNotPresent or Never")
	f.StringVar(&o.pods.PriorityClass, "dataplane-priority-class", "", "PriorityClass of data-plane pods")
	f.BoolVar(&o.policy.Devices, "allow-devices", false, "let chains name devices (spec.interfaces[].device): kernel interfaces of the pod, PCI addresses, DPDK device strings")
	f.StringArrayVar(&o.policy.Images, "allow-image", nil, "image that blackboxes may have the chain run, a registry or a folder of it that ends in a slash, or * for all; may be repeated (default: none)")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "elect one of several replicas as the leader")
	f.StringVar(&o.leaderNamespace, "leader-election-namespace", "", "namespace of the lease (default: the pod's own)")
	f.StringVar(&o.probes, "health-probe-bind-address", ":8081", `address of /healthz and /readyz, "0" for none`)
	f.StringVar(&o.metrics, "metrics-bind-address", ":8443", `address of /metrics, "0" for none`)
	f.StringVar(&o.metricsCertPath, "metrics-cert-path", "", "folder with tls.crt and tls.key for the metrics (default: a certificate made at start)")
	f.StringVar(&o.webhookCertPath, "webhook-cert-path", "", "folder with tls.crt and tls.key for the webhook; absent: no webhook, findings are in the status alone")
	f.IntVar(&o.webhookPort, "webhook-port", 9443, "port of the webhook")
	f.IntVar(&o.workers, "workers", 4, "objects of a kind that are reconciled at a time")
	f.IntVar(&o.policy.MaxRules, "max-rules", 100_000, "lines that all texts of rules have that a chain takes from ConfigMaps; 0: any number")
	f.IntVar(&o.policy.MaxRoutes, "max-routes", 400_000, "lines that all texts of routes have that a chain takes from ConfigMaps; 0: any number")
	f.IntVar(&o.compiles, "concurrent-compiles", 1, "chains that are compiled at a time, one of a namespace; they share the operator's memory")
	f.DurationVar(&o.compileTime, "compile-time", time.Minute, "processor time that a chain may take to compile")
	f.BoolVar(&o.isolation.On, "network-policies", true, "make a NetworkPolicy for each chain: metrics alone come in to its pods, and pods of the chain where they share its state")
	f.StringVar(&o.metricsFrom, "metrics-from", "", `peers of a NetworkPolicy that may read metrics of chains' pods, as JSON: [{"namespaceSelector": {}}] (default: all)`)
	f.StringVar(&o.metricsReader, "metrics-reader-cert", "", "file with a TLS client certificate (PEM) whose holder may read metrics of chains' pods without a token (default: none)")
	f.StringArrayVar(&o.stores, "store", nil, "URL with which those of objects begin that chains may read routes from, such as https://routes.example.net/tables/; may be repeated (default: none may be read)")
	f.Float32Var(&o.qps, "api-qps", 200, "requests per second to the API server")
}

// run runs the operator until the context ends.
func (o *options) run(ctx context.Context) error {
	for _, s := range o.stores {
		if err := stores.CheckAllowed(s); err != nil {
			return fmt.Errorf("--store %q: %w", s, err)
		}
	}
	if o.compiles < 1 {
		return fmt.Errorf("--concurrent-compiles %d: want 1 or more", o.compiles)
	}
	if o.compileTime < time.Second {
		return fmt.Errorf("--compile-time %s: want a second or more", o.compileTime)
	}
	var err error
	if o.isolation.MetricsFrom, err = readPeers(o.metricsFrom); err != nil {
		return fmt.Errorf("--metrics-from: %w", err)
	}
	readers, err := newReaders(o.metricsReader)
	if err != nil {
		return fmt.Errorf("--metrics-reader-cert: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	config.QPS, config.Burst = o.qps, int(2*o.qps)
	switch p := corev1.PullPolicy(o.pullPolicy); p {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
		o.pods.PullPolicy = p
	default:
		return fmt.Errorf("--dataplane-image-pull-policy %q: want Always, IfNotPresent or Never", p)
	}
	if err := await(ctx, config); err != nil {
		return err
	}
	mgr, err := o.manager(config)
	if err != nil {
		return err
	}
	if err := errors.Join(o.controllers(mgr, readers), mgr.Add(readers)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// readPeers reads peers of a NetworkPolicy from JSON; none of an empty text.
func readPeers(text string) (peers []networkingv1.NetworkPolicyPeer, err error) {
	if text == "" {
		return nil, nil
	}
	if err := yaml.UnmarshalStrict([]byte(text), &peers); err != nil {
		return nil, fmt.Errorf(`%q: want a list such as [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]: %w`, text, err)
	}
	for i, p := range peers {
		if p.PodSelector == nil && p.NamespaceSelector == nil && p.IPBlock == nil {
			return nil, fmt.Errorf("%q: peer %d is empty; give it a podSelector, a namespaceSelector or an ipBlock", text, i)
		}
	}
	return peers, nil
}

func (o *options) manager(config *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  caching.Options(),
		Metrics: server.Options{
			BindAddress:    o.metrics,
			SecureServing:  true,
			CertDir:        o.metricsCertPath,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
			TLSOpts:        []func(*tls.Config){modern},
		},
		WebhookServer:           ctrlwebhook.NewServer(ctrlwebhook.Options{Port: o.webhookPort, CertDir: o.webhookCertPath, TLSOpts: []func(*tls.Config){modern}}),
		HealthProbeBindAddress:  o.probes,
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        "operator.nfv.sinter.dev",
		LeaderElectionNamespace: o.leaderNamespace,
		// The next leader need not wait for the lease to run out: nothing is done after the manager ends.
		LeaderElectionReleaseOnCancel: true,
	})
}

// modern leaves old TLS out.
func modern(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }

func (o *options) controllers(mgr ctrl.Manager, readers *readers) error {
	from, turns := source.NewStores(o.stores...), queue.New(o.compiles)
	command, err := confined.Self(compileCommand)
	if err != nil {
		return err
	}
	limits := confined.Limits{Memory: confined.ShareMemory(), Processor: o.compileTime, Clock: 10 * o.compileTime}
	compiler := confined.New(limits, o.compiles, command...)
	chains := &servicechain.Reconciler{
		Stores: from, Queue: turns, Compiler: compiler,
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{},
		Recorder: mgr.GetEventRecorder("sinter-" + servicechain.Name), Policy: o.policy, Isolation: o.isolation,
		MetricsReaders: readers.pins, ReadersChanged: readers.changed,
	}
	instances := &chaininstance.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Pods: o.pods,
		Recorder: mgr.GetEventRecorder("sinter-" + chaininstance.Name),
	}
	functions := &networkfunction.Reconciler{Client: mgr.GetClient(), Clock: clock.RealClock{}, Judged: chains.Judged}
	ready := healthz.Ping
	err = errors.Join(chains.SetupWithManager(mgr, o.workers), instances.SetupWithManager(mgr, o.workers), functions.SetupWithManager(mgr))
	if o.webhookCertPath != "" {
		err = errors.Join(err, webhook.Setup(mgr, o.policy, from, turns, compiler))
		ready = mgr.GetWebhookServer().StartedChecker()
	}
	return errors.Join(err, mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ready", ready))
}
