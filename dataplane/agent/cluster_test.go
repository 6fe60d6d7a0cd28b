package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// cluster is a fake API server that counts what an agent asks of it, and can be down.
type cluster struct {
	client.WithWatch
	writes, reads atomic.Int64 // of status, of programs
	down          atomic.Bool
}

var errDown = errors.New("connection refused")

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &cluster{}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.ChainInstance{}).
		WithIndex(&v1alpha1.ChainInstance{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, ok := o.(*v1alpha1.ChainProgram); ok {
					c.reads.Add(1)
				}
				if c.down.Load() {
					return errDown
				}
				return w.Get(ctx, key, o, opts...)
			},
			SubResourceApply: func(ctx context.Context, w client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				c.writes.Add(1)
				if c.down.Load() {
					return errDown
				}
				return w.SubResource(sub).Apply(ctx, o, opts...)
			},
		}).Build()
	return c
}

// instance is the instance as the cluster has it.
func (c *cluster) instance(t *testing.T) *v1alpha1.ChainInstance {
	t.Helper()
	var i v1alpha1.ChainInstance
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "edge-0"}, &i); err != nil {
		t.Fatal(err)
	}
	return &i
}

// programmed is the reason of Programmed.
func programmed(i *v1alpha1.ChainInstance) (reason, message string) {
	if c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed); c != nil {
		return c.Reason, c.Message
	}
	return "", ""
}

// IsWatchListSemanticsUnSupported tells informers to list before they watch: the fake sends no bookmarks.
func (c *cluster) IsWatchListSemanticsUnSupported() bool { return true }

// testInstance is an instance that shall run a program, by packet socket on net1 and a VF.
func testInstance(program string) *v1alpha1.ChainInstance {
	return &v1alpha1.ChainInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "edge-0", Generation: 3},
		Spec: v1alpha1.ChainInstanceSpec{
			Chain: "edge", Program: program, Cores: 1,
			Groups: []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{"0-127"}, Cores: []int32{0}}},
			Interfaces: []v1alpha1.InterfaceBinding{
				{Name: "in", Driver: v1alpha1.DriverAFPacket, Device: "net1"},
				{Name: "out", Driver: v1alpha1.DriverVFIO, ResourceName: "intel.com/sriov_vf"},
			},
		},
	}
}
