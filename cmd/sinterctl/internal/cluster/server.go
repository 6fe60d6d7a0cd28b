package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// maxVersion is more than an API server says of its version.
const maxVersion = 1 << 16

// Server implements Pods. It reads the version without client-go's client, which does not show the header that has the time.
func (p pods) Server(ctx context.Context) (Server, error) {
	direct, err := rest.HTTPClientFor(p.config)
	if err != nil {
		return Server{}, err
	}
	url := p.set.CoreV1().RESTClient().Get().AbsPath("/version").URL().String()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Server{}, err
	}
	response, err := direct.Do(request)
	if err != nil {
		return Server{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxVersion))
	if err != nil {
		return Server{}, err
	}
	var v version.Info
	if err := json.Unmarshal(text, &v); err != nil || v.GitVersion == "" {
		return Server{}, fmt.Errorf("GET %s: %s: no version of Kubernetes", url, response.Status)
	}
	// Without a time that can be read it is zero: nobody can compare clocks then.
	at, _ := time.Parse(http.TimeFormat, response.Header.Get("Date"))
	return Server{Version: v.GitVersion, Time: at}, nil
}

// CPUManagerPolicy implements Pods.
func (p pods) CPUManagerPolicy(ctx context.Context, node string) (string, error) {
	text, err := p.set.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("configz").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var kubelet struct {
		Config struct {
			CPUManagerPolicy string `json:"cpuManagerPolicy"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &kubelet); err != nil {
		return "", fmt.Errorf("configuration of the kubelet on node %s: %w", node, err)
	}
	return kubelet.Config.CPUManagerPolicy, nil
}
