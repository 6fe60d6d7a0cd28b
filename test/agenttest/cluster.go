package agenttest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Cluster is a fake API server that counts what an agent asks of it, and can be down.
type Cluster struct {
	client.WithWatch
	Writes, Reads atomic.Int64 // of status, of programs
	Down          atomic.Bool
}

// key is that of the one instance.
var key = client.ObjectKey{Namespace: "default", Name: "edge-0"}

var errDown = errors.New("connection refused")

// NewCluster is a cluster that has these objects.
func NewCluster(t *testing.T, objects ...client.Object) *Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.ChainInstance{}).
		WithIndex(&v1alpha1.ChainInstance{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, ok := o.(*v1alpha1.ChainProgram); ok {
					c.Reads.Add(1)
				}
				if c.Down.Load() {
					return errDown
				}
				return w.Get(ctx, name, o, opts...)
			},
			SubResourceApply: func(ctx context.Context, w client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				c.Writes.Add(1)
				if c.Down.Load() {
					return errDown
				}
				return w.SubResource(sub).Apply(ctx, o, opts...)
			},
		}).Build()
	return c
}

// Instance is the instance as the cluster has it.
func (c *Cluster) Instance(t *testing.T) *v1alpha1.ChainInstance {
	t.Helper()
	var i v1alpha1.ChainInstance
	if err := c.Get(t.Context(), key, &i); err != nil {
		t.Fatal(err)
	}
	return &i
}

// Change changes the instance's specification. An agent may write its status meanwhile: then once more, from what is there now.
func Change(t *testing.T, c client.Client, change func(*v1alpha1.ChainInstanceSpec)) {
	t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var i v1alpha1.ChainInstance
		if err := c.Get(t.Context(), key, &i); err != nil {
			return err
		}
		change(&i.Spec)
		i.Generation++ // the API server's doing, which the fake one leaves out
		return c.Update(t.Context(), &i)
	}); err != nil {
		t.Fatal(err)
	}
}

// Programmed is the reason of Programmed.
func Programmed(i *v1alpha1.ChainInstance) (reason, message string) {
	if c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionProgrammed); c != nil {
		return c.Reason, c.Message
	}
	return "", ""
}

// IsWatchListSemanticsUnSupported tells informers to list before they watch: the fake sends no bookmarks.
func (c *Cluster) IsWatchListSemanticsUnSupported() bool { return true }

// Instance is an instance that must run a program, by packet socket on net1 and a VF.
func Instance(program string) *v1alpha1.ChainInstance {
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
