package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/dataplane/agent"
	"github.com/sinter-nfv/sinter/dataplane/agent/doorway"
	"github.com/sinter-nfv/sinter/dataplane/agent/lifecycle"
)

// running is how the agent is run.
type running struct {
	instance                 client.ObjectKey
	node, kubeconfig, probes string
	addresses                string // of the pod, with commas between them
	metrics                  metricsServer
	balance                  bool
	peers                    peering
}

func newRun(dir func() folder, log logr.Logger) *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the agent",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context(), dir(), log) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.instance.Name, "instance", "", "the pod's ChainInstance (default: $POD_NAME)")
	flags.StringVar(&r.instance.Namespace, "namespace", "", "its namespace (default: $POD_NAMESPACE)")
	flags.StringVar(&r.node, "node", "", "node that the pod is on (default: $NODE_NAME)")
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "kubeconfig file, to run outside of the cluster")
	flags.BoolVar(&r.balance, "balance", true, "move shards between the engine's cores by their load")
	flags.StringVar(&r.peers.secret, "chain-secret", "", "file with the secret of the chain's pods, which share its state; none: the pod has all of it")
	flags.StringVar(&r.peers.address, "peers-bind", ":9443", "address at which other pods of the chain give shards")
	flags.StringVar(&r.addresses, "pod-addresses", "", "addresses of the pod in the cluster, such as 10.0.0.7,fd00::7: what comes to the ports by interfaces without one of them is dropped (default: $POD_IPS; none: all interfaces)")
	flags.StringVar(&r.probes, "probes-bind", ":8081", "address of /livez, /healthz and /readyz")
	flags.StringVar(&r.metrics.address, "metrics-bind", ":9090", `address of /metrics, "" for none`)
	flags.BoolVar(&r.metrics.auth, "metrics-auth", true, "serve metrics over TLS, and only to users that the cluster allows to get /metrics")
	return cmd
}

func (r *running) run(ctx context.Context, dir folder, log logr.Logger) error {
	r.instance.Name = cmp.Or(r.instance.Name, os.Getenv("POD_NAME"))
	r.instance.Namespace = cmp.Or(r.instance.Namespace, os.Getenv("POD_NAMESPACE"))
	if r.instance.Name == "" || r.instance.Namespace == "" {
		return errors.New("which ChainInstance is this pod's? Set --instance and --namespace, or POD_NAME and POD_NAMESPACE from the downward API")
	}
	config, err := restConfig(r.kubeconfig)
	if err != nil {
		return err
	}
	cluster, err := agent.NewClient(config)
	if err != nil {
		return err
	}
	if err := lifecycle.Undrain(dir.draining()); err != nil {
		return err
	}
	by, err := facing(cmp.Or(r.addresses, os.Getenv("POD_IPS")))
	if err != nil {
		return err
	}
	identity, listener, err := r.peers.open(ctx, by)
	if err != nil {
		return err
	}
	a := agent.New(agent.Config{
		Identity: identity,
		Peers:    listener,
		Client:   cluster,
		Instance: r.instance,
		Node:     cmp.Or(r.node, os.Getenv("NODE_NAME")),
		Socket:   dir.socket(),
		Programs: dir.programs(),
		Binding:  dir.binding(),
		Draining: dir.draining(),
		Balance:  r.balance,
		Clock:    clock.RealClock{},
		Log:      log,
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.Run(ctx) })
	group.Go(func() error { return serve(ctx, r.probes, by, probesLimits, a.Handler(), nil) })
	group.Go(func() error { return r.metrics.serve(ctx, config, by, a) })
	return group.Wait()
}

// facing are the interfaces by which the cluster reaches the pod, as doorway.Listen wants them; none: the pod's addresses are not known.
func facing(addresses string) ([]int, error) {
	if addresses == "" {
		return nil, nil
	}
	var list []netip.Addr
	for text := range strings.SplitSeq(addresses, ",") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("--pod-addresses, or POD_IPS, %q: want IP addresses with commas between them: %w", addresses, err)
		}
		list = append(list, a)
	}
	by, err := doorway.Facing(list)
	if err != nil {
		return nil, fmt.Errorf("--pod-addresses, or POD_IPS, %q: want addresses of the pod's interfaces: %w", addresses, err)
	}
	return by, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	return rest.InClusterConfig()
}
