package sriov

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const (
	namespace = "sriov"
	node      = "sriov"
	vfs       = "sinter.test/vf" // the resource
	taint     = "sinter.test/sriov"
)

// cluster is the cluster that the guest has joined.
type cluster struct {
	*rig
	api client.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	r := newRig(t)
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("needs the cluster that the guest has joined: run make sriov-node e2e-sriov")
	}
	api, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{r, api}
	c.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	c.kubectl(t, "apply", "-f", "testdata/networks.yaml")
	t.Cleanup(func() {
		if t.Failed() {
			for _, what := range []string{"servicechains,chaininstances,pods", "node " + node} {
				out, err := c.try(strings.Fields("describe " + what)...)
				t.Log(out, err)
			}
			out, err := c.rig.try("journalctl --no-pager --lines 30 --unit kubelet --unit sriov-device-plugin")
			t.Log(out, err)
		}
		c.kubectl(t, "delete", "servicechains", "--all", "--cascade=foreground", "--timeout=120s")
		c.kubectl(t, "delete", "namespace", namespace, "--timeout=120s")
	})
	return c
}

// try runs kubectl in the tests' namespace.
func (c *cluster) try(args ...string) (string, error) {
	return c.kubectlWith("", args...)
}

func (c *cluster) kubectlWith(stdin string, args ...string) (string, error) {
	cmd := exec.Command("kubectl", append([]string{"--namespace", namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func (c *cluster) kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := c.try(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *cluster) apply(t testing.TB, manifest string) {
	t.Helper()
	if _, err := c.kubectlWith(manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
}

func connect() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	log.SetLogger(logr.Discard())
	return client.New(config, client.Options{Scheme: scheme})
}

func (c *cluster) get(t testing.TB, into client.Object, in, name string) {
	t.Helper()
	if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: in, Name: name}, into); err != nil {
		t.Fatal(err)
	}
}

// applyChain applies the chain of testdata/chain.yaml under a name, its interfaces on VFs of these networks, with one core if not said otherwise.
func (c *cluster) applyChain(t testing.TB, name, inside, outside string, change ...func(*v1alpha1.ServiceChainSpec)) {
	t.Helper()
	text, err := os.ReadFile("testdata/chain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chain v1alpha1.ServiceChain
	if err := yaml.UnmarshalStrict(text, &chain); err != nil {
		t.Fatal(err)
	}
	chain.Name = name
	for i, network := range []string{inside, outside} {
		on := &chain.Spec.Interfaces[i]
		on.NetworkRef = &v1alpha1.NetworkRef{Name: network}
		on.ResourceName = vfs
	}
	chain.Spec.Placement = v1alpha1.Placement{
		NodeName:    node,
		Tolerations: []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}},
	}
	chain.Spec.Scaling = v1alpha1.Scaling{Instances: 1, MinCores: 1, MaxCores: 1}
	for _, f := range change {
		f(&chain.Spec)
	}
	manifest, err := yaml.Marshal(chain)
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(manifest))
}

// condition checks a condition of a chain's present generation.
func (c *cluster) condition(t testing.TB, chain, kind string, status metav1.ConditionStatus) (*metav1.Condition, error) {
	t.Helper()
	var s v1alpha1.ServiceChain
	c.get(t, &s, namespace, chain)
	found := meta.FindStatusCondition(s.Status.Conditions, kind)
	if found == nil || found.ObservedGeneration != s.Generation || found.Status != status {
		return nil, fmt.Errorf("chain %s: condition %s is %+v, want %s", chain, kind, found, status)
	}
	return found, nil
}

func (c *cluster) waitReady(t testing.TB, chain string) {
	t.Helper()
	eventually(t, 2*patience, func() error {
		_, err := c.condition(t, chain, v1alpha1.ConditionReady, metav1.ConditionTrue)
		return err
	})
}

// exec runs a command in the engine's container of a chain.
func (c *cluster) exec(t testing.TB, chain string, command ...string) string {
	t.Helper()
	return c.kubectl(t, append([]string{"exec", chain + "-0", "-c", "engine", "--"}, command...)...)
}

// engineCounters are those of a chain's engine.
func (c *cluster) engineCounters(t testing.TB, chain string) counters {
	t.Helper()
	return c.counters(t, socketOf(c.pod(t, chain+"-0")))
}

// socketOf is the control socket of a pod's engine in the guest.
func socketOf(pod *corev1.Pod) string {
	return "/var/lib/kubelet/pods/" + string(pod.UID) + "/volumes/kubernetes.io~empty-dir/sinter/engine.sock"
}

// packets is how many came to a chain.
func (c *cluster) packets(t testing.TB, chain string) uint64 {
	t.Helper()
	return c.engineCounters(t, chain).packets()
}

func TestChainsRunOnVFsOfASRIOVNode(t *testing.T) {
	c := newCluster(t)
	_, functions := c.functions(t)
	t.Run("the device plugin offers four VFs", func(t *testing.T) {
		eventually(t, patience, func() error {
			var n corev1.Node
			c.get(t, &n, "", node)
			if got := n.Status.Allocatable[vfs]; got.Value() != 4 {
				return fmt.Errorf("node %s: allocatable %s is %s, want 4", node, vfs, got.String())
			}
			return nil
		})
	})
	start := time.Now()
	c.applyChain(t, "a", "inside-a", "outside-a")
	c.waitReady(t, "a")
	t.Logf("chain a: Ready %.0f s after it was applied", time.Since(start).Seconds())
	t.Run("the pod has a vCPU, hugepages, two VFs and no rights beyond those named", func(t *testing.T) { c.checkPod(t, "a") })

	a := newPeers(t, c.cable, 101, 102)
	t.Run("TCP and UDP pass firewall, router and NAPT, and come back", func(t *testing.T) { a.converse(t) })
	t.Run("each VF has the VLAN of its network, and the address that its PF gave it", func(t *testing.T) { c.checkVLANs(t, functions, a) })
	t.Run("the condition HardwareDispatch says what the VFs cannot do", c.checkDispatch)
	t.Run("a chain for which VFs are short says which resource on which node", func(t *testing.T) {
		c.kubectl(t, "apply", "-f", "testdata/holder.yaml")
		c.kubectl(t, "wait", "--for=condition=Ready", "pod/holder", "--timeout=180s")
		c.applyChain(t, "b", "inside-b", "outside-b")
		eventually(t, patience, func() error {
			found, err := c.condition(t, "b", v1alpha1.ConditionPlaced, metav1.ConditionFalse)
			if err == nil && (!strings.Contains(found.Message, vfs) || !strings.Contains(found.Message, node)) {
				err = fmt.Errorf("the condition Placed says %s: %q; want resource %s and node %s named", found.Reason, found.Message, vfs, node)
			}
			return err
		})
		c.kubectl(t, "delete", "pod", "holder", "--timeout=120s")
	})
	c.waitReady(t, "b") // as soon as they are free
	b := newPeers(t, c.cable, 103, 104)
	t.Run("two chains side by side, neither sees the other's frames", func(t *testing.T) { c.checkApart(t, a, b) })
	t.Run("VFs of a deleted chain go back to the pool, without its VLAN", func(t *testing.T) {
		c.kubectl(t, "delete", "servicechain", "a", "b", "--cascade=foreground", "--timeout=150s")
		eventually(t, patience, func() error {
			if vlans := c.run(t, "ip link show | grep -c ' vlan ' || true"); vlans != "0" {
				return fmt.Errorf("%s VFs still have a VLAN", vlans)
			}
			return nil
		})
		c.applyChain(t, "b", "inside-b", "outside-b")
		c.applyChain(t, "a", "inside-a", "outside-a")
		c.waitReady(t, "a")
		c.waitReady(t, "b")
		a.converse(t)
		b.converse(t)
	})
}

// checkApart tells whether each of two chains has the packets that are sent to it, and no others.
func (c *cluster) checkApart(t *testing.T, a, b *peers) {
	ofA := func() uint64 { return c.packets(t, "a") }
	ofB := func() uint64 { return c.packets(t, "b") }
	beforeA, beforeB := settled(t, ofA), settled(t, ofB)
	a.converse(t)
	afterA, afterB := settled(t, ofA), settled(t, ofB)
	if afterA == beforeA || afterB != beforeB {
		t.Errorf("while only chain a was talked to, chain a had %d packets and chain b %d, want some and none", afterA-beforeA, afterB-beforeB)
	}
	b.converse(t)
	lastA, lastB := settled(t, ofA), settled(t, ofB)
	if lastA != afterA || lastB == afterB {
		t.Errorf("while only chain b was talked to, chain a had %d packets and chain b %d, want none and some", lastA-afterA, lastB-afterB)
	}
}

// checkDispatch tells whether the condition says what the VFs cannot do.
func (c *cluster) checkDispatch(t *testing.T) {
	found, err := c.condition(t, "a", v1alpha1.ConditionHardwareDispatch, metav1.ConditionFalse)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"one core takes all packets", "net_e1000_igb_vf offers neither flow rules (", ") nor RSS"} {
		if found.Reason != v1alpha1.ReasonSoftwareDispatch || !strings.Contains(found.Message, words) {
			t.Errorf("reason %s, message %q: want %s, and %q", found.Reason, found.Message, v1alpha1.ReasonSoftwareDispatch, words)
		}
	}
	t.Log(found.Message)
}

// checkVLANs tells whether the VFs of chain a send in the VLANs of its networks.
func (c *cluster) checkVLANs(t *testing.T, functions []function, a *peers) {
	want := map[uint16]bool{101: true, 102: true}
	seen := c.watchSenders(t, functions, func() { a.converse(t) })
	for vf, vlans := range seen {
		if len(vlans) != 1 || !want[vlans[0]] {
			t.Errorf("VF %d sends in VLANs %v, want one of 101 and 102", vf, vlans)
		} else {
			delete(want, vlans[0])
		}
	}
	if len(want) != 0 {
		t.Errorf("no VF's frames were seen in VLANs %v", want)
	}
}

// watchSenders tells in which VLANs each VF sends while something is done.
func (c *cluster) watchSenders(t *testing.T, functions []function, do func()) map[int][]uint16 {
	t.Helper()
	seen := c.cable.Senders(t, do)
	out := map[int][]uint16{}
	for _, f := range functions {
		if vlans := seen[f.mac]; vlans != nil {
			out[f.index] = vlans
		}
	}
	return out
}

func (c *cluster) checkPod(t *testing.T, chain string) {
	t.Helper()
	var pod corev1.Pod
	c.get(t, &pod, namespace, chain+"-0")
	if pod.Spec.NodeName != node || pod.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("pod on node %s, class %s; want %s, Guaranteed", pod.Spec.NodeName, pod.Status.QOSClass, node)
	}
	if pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC {
		t.Error("the pod shares a namespace with its node")
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is the node's path %s", v.Name, v.HostPath.Path)
		}
	}
	for _, k := range pod.Spec.Containers {
		s := k.SecurityContext
		if s == nil || *s.Privileged || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("container %s: security context %+v", k.Name, s)
			continue
		}
		if k.Name == "engine" && !slices.Equal(s.Capabilities.Add, []corev1.Capability{"IPC_LOCK", "SYS_NICE"}) || k.Name != "engine" && len(s.Capabilities.Add) > 0 {
			t.Errorf("container %s has capabilities %v", k.Name, s.Capabilities.Add)
		}
	}
	if q := pod.Spec.Containers[0].Resources.Limits[vfs]; q.Value() != 2 {
		t.Errorf("the engine asks for %s of %s, want 2", q.String(), vfs)
	}
	status := c.exec(t, chain, "cat", "/proc/1/status")
	field := func(name string) string {
		for line := range strings.Lines(status) {
			if rest, ok := strings.CutPrefix(line, name+":"); ok {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	// CAP_IPC_LOCK is bit 14, CAP_SYS_NICE bit 23: capabilities(7).
	if want := fmt.Sprintf("%016x", 1<<14|1<<23); field("CapEff") != want || field("CapBnd") != want {
		t.Errorf("the engine's capabilities are %s of %s, want %s", field("CapEff"), field("CapBnd"), want)
	}
	if cpus := field("Cpus_allowed_list"); strings.ContainsAny(cpus, ",-") || cpus == "0" {
		t.Errorf("the engine may use CPUs %s, want one that is not the system's", cpus)
	}
	c.checkDevices(t, chain)
	if bytes := c.exec(t, chain, "cat", "/sys/fs/cgroup/hugetlb.2MB.current"); bytes == "0" {
		t.Error("the engine uses no hugepages")
	}
}

// checkDevices tells whether a pod sees its VFs and no other device.
func (c *cluster) checkDevices(t *testing.T, chain string) {
	t.Helper()
	addresses := strings.Split(c.exec(t, chain, "printenv", "PCIDEVICE_SINTER_TEST_VF"), ",")
	groups := []string{"vfio"}
	for _, a := range addresses {
		groups = append(groups, c.run(t, "basename $(readlink /sys/bus/pci/devices/%s/iommu_group)", a))
	}
	slices.Sort(groups)
	if seen := strings.Fields(c.exec(t, chain, "ls", "/dev/vfio")); len(addresses) != 2 || !slices.Equal(seen, groups) {
		t.Errorf("VFs %v: the pod sees %v in /dev/vfio, want %v", addresses, seen, groups)
	}
	devices := strings.Fields(c.exec(t, chain, "find", "/dev", "(", "-type", "c", "-o", "-type", "b", ")", "-not", "-path", "/dev/vfio/*", "-not", "-path", "/dev/pts/*"))
	slices.Sort(devices)
	if want := []string{"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"}; !slices.Equal(devices, want) {
		t.Errorf("the pod's devices beside its VFs are %v, want %v", devices, want)
	}
}
