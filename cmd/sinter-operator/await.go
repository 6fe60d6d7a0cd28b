package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	askCluster    = 2 * time.Second
	answerCluster = 10 * time.Second
)

// await waits until the API server answers. To end instead would have kubelet wait longer
// with each restart, and the operator come minutes after the API server.
func await(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Timeout = answerCluster
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	log := ctrl.Log.WithName("await")
	return wait.PollUntilContextCancel(ctx, askCluster, true, func(context.Context) (bool, error) {
		_, err := client.ServerVersion()
		if err != nil {
			log.Info("the API server does not answer yet", "error", err.Error())
		}
		return err == nil, nil
	})
}
