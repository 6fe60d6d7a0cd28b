package connectivity

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

//go:embed chain.yaml
var chainText []byte

const (
	// Label has the name of a run, on all that the run makes.
	Label = "nfv.sinter.dev/connectivity-test"

	container          = "wire"
	smoke              = "/usr/bin/sinter-smoke"
	networksAnnotation = "k8s.v1.cni.cncf.io/networks"
	// deletePatience bounds the deletion of what was made.
	deletePatience = 30 * time.Second
	namePrefix     = "sinter-test-"
	suffixLetters  = 5
)

var attachment = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

// objects are what a run makes in a cluster.
type objects struct {
	client    client.Client
	namespace string
	name      string // of the run
	made      []client.Object
}

func newObjects(c client.Client, namespace string) *objects {
	name := []byte(namePrefix)
	for range suffixLetters {
		name = append(name, byte('a'+rand.IntN(26)))
	}
	return &objects{client: c, namespace: namespace, name: string(name)}
}

// create makes an object with the run's label.
func (o *objects) create(ctx context.Context, kind string, object client.Object) error {
	object.SetNamespace(o.namespace)
	object.SetLabels(map[string]string{Label: o.name})
	o.made = append(o.made, object) // even if there is an error: the API server may have it nonetheless
	err := o.client.Create(ctx, object)
	switch {
	case meta.IsNoMatchError(err) && kind == attachment.Kind:
		return fmt.Errorf("create %s: %w: is Multus installed in this cluster?", kind, err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("create %s: %w: is Sinter installed in this cluster?", kind, err)
	case err != nil:
		return fmt.Errorf("create %s %s/%s: %w", kind, o.namespace, object.GetName(), err)
	}
	return nil
}

// alone waits until the pods of a run before are gone, and refuses to run beside another one: both would have the same addresses.
func (o *objects) alone(ctx context.Context, pause time.Duration) error {
	var chains v1alpha1.ServiceChainList
	if err := o.client.List(ctx, &chains, client.InNamespace(o.namespace), client.HasLabels{Label}); err != nil {
		return fmt.Errorf("list servicechains in namespace %s: %w", o.namespace, err)
	}
	for i := range chains.Items {
		if other := &chains.Items[i]; other.DeletionTimestamp.IsZero() {
			return fmt.Errorf("a test runs already in namespace %s, or was left there: wait until it ends, or delete it: %s",
				o.namespace, (&objects{namespace: o.namespace, name: other.Name}).howToRemove())
		}
	}
	return poll(ctx, pause, o.podsGone)
}

// podsGone tells whether no pod of a test is there any more: neither client and server, nor those of the chain.
func (o *objects) podsGone(ctx context.Context) (done bool, what string, err error) {
	var pods corev1.PodList
	if err := o.client.List(ctx, &pods, client.InNamespace(o.namespace)); err != nil {
		return false, "", fmt.Errorf("list pods in namespace %s: %w", o.namespace, err)
	}
	for i := range pods.Items {
		labels := pods.Items[i].Labels
		if labels[Label] != "" || strings.HasPrefix(labels[v1alpha1.LabelChain], namePrefix) {
			return false, fmt.Sprintf("pod %s/%s of a test is still there", o.namespace, pods.Items[i].Name), nil
		}
	}
	return true, "", nil
}

// remove deletes what was made, the last first, as pods leave a network before it goes, and waits until the pods are gone.
func (o *objects) remove(ctx context.Context, pause time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletePatience)
	defer cancel()
	var errs []error
	for i := range o.made {
		object := o.made[len(o.made)-1-i]
		if err := o.client.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("delete %s: %w", object.GetName(), err))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w; to delete it: %s", errors.Join(errs...), o.howToRemove())
	}
	return poll(ctx, pause, o.podsGone)
}

// howToRemove is the command that deletes what was made.
func (o *objects) howToRemove() string {
	return fmt.Sprintf("kubectl --namespace %s delete servicechains,pods,network-attachment-definitions -l %s=%s", o.namespace, Label, o.name)
}

// network makes a network of a side, unless one is named. It returns the name of either.
func (o *objects) network(ctx context.Context, side, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	name := o.name + "-" + side
	// The CNI plugin never deletes a bridge, so that all runs in a namespace take the same two. A name has at most 15 characters.
	// Hosts and chain have their addresses themselves: no IPAM.
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.namespace))
	bridge := fmt.Sprintf("sct-%06x-%s", hash.Sum32()&0xffffff, strings.TrimSuffix(side, "side"))
	n := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"config": fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "type": "bridge", "bridge": %q}`, name, bridge),
	}}}
	n.SetGroupVersionKind(attachment)
	n.SetName(name)
	return name, o.create(ctx, attachment.Kind, n)
}

// chain makes the chain between two networks.
func (o *objects) chain(ctx context.Context, inside, outside string) error {
	chain, err := parseChain()
	if err != nil {
		return err
	}
	chain.Name = o.name
	for i, network := range []string{inside, outside} {
		chain.Spec.Interfaces[i].NetworkRef = &v1alpha1.NetworkRef{Name: network}
	}
	return o.create(ctx, v1alpha1.KindServiceChain, chain)
}

// parseChain is the chain of chain.yaml.
func parseChain() (*v1alpha1.ServiceChain, error) {
	bundle, findings := manifest.Parse("chain.yaml", chainText, nil)
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return bundle.Chain("")
}

// pod makes a pod on a node, with an interface net1 in a network.
func (o *objects) pod(ctx context.Context, role, network, node, image string) (*corev1.Pod, error) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        o.name + "-" + role,
			Annotations: map[string]string{networksAnnotation: fmt.Sprintf("%s/%s@net1", o.namespace, network)},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Affinity:                      onNode(node),
			Containers: []corev1.Container{{
				Name: container, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{smoke, "idle"},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					RunAsUser: ptr.To[int64](0), // other users do not get the capability
					Capabilities: &corev1.Capabilities{
						Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_RAW"},
					},
					AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem:   ptr.To(true),
					SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
			}},
		},
	}
	return p, o.create(ctx, "Pod", p)
}

// onNode has the scheduler choose a node: without it, the kubelet would refuse a pod for which the node has no room.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}
