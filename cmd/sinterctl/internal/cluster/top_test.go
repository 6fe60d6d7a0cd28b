package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// listingPods answer sinter-agent top: each pod has a flow of its own.
type listingPods struct {
	fakePods
	t    *testing.T
	mute string // a pod that fails
}

func (p listingPods) Exec(_ context.Context, pod client.ObjectKey, container string, command []string, _ io.Reader, out io.Writer) error {
	if container != v1alpha1.ContainerAgent || len(command) != 4 || !slices.Equal(command[:3], []string{"sinter-agent", "top", "--request"}) {
		p.t.Errorf("run was %q in %s", command, container)
	}
	var want programpb.GetTop
	if err := protojson.Unmarshal([]byte(command[3]), &want); err != nil || want.GetLimit() != 7 {
		p.t.Errorf("asked was %q, %v", command[3], err)
	}
	if pod.Name == p.mute {
		return errors.New("the engine does not answer")
	}
	text, err := protojson.Marshal(&programpb.TopList{Name: pod.Name})
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func TestTopAsksEachInstance(t *testing.T) {
	w := newWorld(t)
	w.Pods = listingPods{t: t}
	names := func(lists []*programpb.TopList) (out []string) {
		for _, l := range lists {
			out = append(out, l.GetName())
		}
		return out
	}
	lists, err := w.Top(t.Context(), "office", nil, &programpb.GetTop{Limit: 7})
	if got := names(lists); err != nil || !slices.Equal(got, []string{"office-0", "office-1"}) {
		t.Errorf("got %q, %v", got, err)
	}
	lists, err = w.Top(t.Context(), "office", []string{"office-1"}, &programpb.GetTop{Limit: 7})
	if got := names(lists); err != nil || !slices.Equal(got, []string{"office-1"}) {
		t.Errorf("got %q, %v", got, err)
	}
	w.Pods = listingPods{t: t, mute: "office-1"}
	lists, err = w.Top(t.Context(), "office", nil, &programpb.GetTop{Limit: 7})
	if got := names(lists); err == nil || !strings.Contains(err.Error(), "instance office-1: the engine does not answer") || !slices.Equal(got, []string{"office-0"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err = w.Top(t.Context(), "ofice", nil, &programpb.GetTop{Limit: 7}); err == nil || !strings.Contains(err.Error(), `did you mean "office"?`) {
		t.Errorf("got %v", err)
	}
}
