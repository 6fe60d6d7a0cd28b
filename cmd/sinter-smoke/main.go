// Command sinter-smoke checks an installation from within the cluster, as
// `helm test` runs it: are the definitions served, does a leader run, is a bad
// chain refused, are metrics kept from strangers. It changes nothing.
//
// Its subcommands are for the pods of `kubectl sinter connectivity-test`: idle
// keeps a pod there, and wire sends and receives frames in it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := subcommand(ctx, os.Args[1:])
	if !ok {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sinter-smoke:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s smoke
	var timeout time.Duration
	flags := pflag.NewFlagSet("sinter-smoke", pflag.ContinueOnError)
	flags.StringVar(&s.namespace, "namespace", "default", "namespace of the operator, and of the chains that are tried (never created)")
	flags.StringVar(&s.lease, "lease", "", "lease by which the operator's leader is known")
	flags.BoolVar(&s.webhook, "webhook", true, "a webhook must refuse bad chains")
	flags.StringVar(&s.metricsURL, "metrics-url", "", "where the operator's metrics are; empty for not served")
	flags.StringVar(&s.metricsCA, "metrics-ca", "", "PEM file of the authority that must have signed the metrics' certificate")
	flags.DurationVar(&timeout, "timeout", time.Minute, "time within which everything must be well")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}

	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("this command runs in a pod: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if s.api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	s.token = config.BearerToken
	s.now = time.Now

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return report(ctx, s.checks(), time.Second, out)
}
