package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Top asks the instances of a chain for what is heaviest. No names: all instances. With an error come
// the lists of those that answered.
func (c *Cluster) Top(ctx context.Context, name string, names []string, want *programpb.GetTop) ([]*programpb.TopList, error) {
	chain, err := c.chain(ctx, name)
	if err != nil {
		return nil, err
	}
	instances, err := c.chosen(ctx, chain, names)
	if err != nil {
		return nil, err
	}
	request, err := protojson.Marshal(want)
	if err != nil {
		return nil, err
	}
	all, errs := make([]*programpb.TopList, len(instances)), make([]error, len(instances))
	var asked sync.WaitGroup
	for i := range instances {
		pod := client.ObjectKeyFromObject(&instances[i])
		asked.Go(func() {
			var err error
			if all[i], err = c.top(ctx, pod, string(request)); err != nil {
				errs[i] = fmt.Errorf("instance %s: %w", pod.Name, err)
			}
		})
	}
	asked.Wait()
	return slices.DeleteFunc(all, func(l *programpb.TopList) bool { return l == nil }), errors.Join(errs...)
}

func (c *Cluster) top(ctx context.Context, pod client.ObjectKey, request string) (*programpb.TopList, error) {
	var out bytes.Buffer
	if err := c.Pods.Exec(ctx, pod, v1alpha1.ContainerAgent, []string{"sinter-agent", "top", "--request", request}, strings.NewReader(""), &out); err != nil {
		return nil, err
	}
	list := new(programpb.TopList)
	if err := protojson.Unmarshal(out.Bytes(), list); err != nil {
		return nil, fmt.Errorf("the agent's list cannot be read: %w", err)
	}
	return list, nil
}
