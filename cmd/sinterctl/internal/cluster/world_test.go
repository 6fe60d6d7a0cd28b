package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/compile"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s (go test -update rewrites it):\n%s", path, got)
	}
}

// office is a chain that takes its firewall from a NetworkFunction, and that from a ConfigMap.
const office = `
apiVersion: nfv.sinter.dev/v1alpha1
kind: ServiceChain
metadata: {name: office, namespace: lab}
spec:
  interfaces:
  - {name: inside, address: 10.0.0.1/24, mtu: %[1]d}
  - {name: outside, address: 198.51.100.2/24, gateway: 198.51.100.1}
  functions:
  - {name: fw, functionRef: {name: guard}}
  - {name: rt, router: {routes: [{prefix: 0.0.0.0/0, port: outside}]}}
  - {name: nat, napt: {pool: [198.51.100.16-198.51.100.31]}}
  path: [inside, fw, rt, nat, outside]
---
apiVersion: nfv.sinter.dev/v1alpha1
kind: NetworkFunction
metadata: {name: guard, namespace: lab}
spec:
  firewall:
    rulesFrom: {configMapRef: {name: acl, key: rules}, format: CSV}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: acl, namespace: lab}
data: {rules: %[2]q}
`

// parsed is the office with an MTU and the ports that it bars.
func parsed(t *testing.T, mtu int, ports string) *manifest.Bundle {
	t.Helper()
	b, found := manifest.Parse("office.yaml", fmt.Appendf(nil, office, mtu, rules(ports)), os.ReadFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	return b
}

func rules(ports string) string {
	return "name,protocol,destinationPorts,from,action\nno-smtp,tcp," + ports + ",Inside,Drop\nrest,,,,Accept\n"
}

// revision is what the operator makes of the office.
func revision(t *testing.T, number int64, mtu int, ports string) *v1alpha1.ChainProgram {
	t.Helper()
	b := parsed(t, mtu, ports)
	o := compile.Chain(b.Chains[0], compile.Inputs{
		Functions: b.Functions,
		Text:      func(*v1alpha1.ConfigMapKeyRef) ([]byte, error) { return []byte(rules(ports)), nil },
	})
	return kept(t, "office", number, o)
}

// kept is the object that the operator keeps a chain's program in.
func kept(t *testing.T, chain string, number int64, o compile.Outcome) *v1alpha1.ChainProgram {
	t.Helper()
	if o.Program == nil {
		t.Fatal(o.Message)
	}
	p := &v1alpha1.ChainProgram{Spec: v1alpha1.ChainProgramSpec{
		Chain: chain, Revision: number, Hash: o.Program.Hash, Schema: program.SchemaVersion,
		Encoding: v1alpha1.EncodingGzip, Program: o.Program.Packed, Classes: o.Program.Classes, Interfaces: o.Program.Interfaces,
	}}
	p.Namespace, p.Name = "lab", o.Program.Name(chain)
	p.CreationTimestamp = ago(time.Duration(10-number) * time.Hour)
	p.Labels = map[string]string{v1alpha1.LabelChain: chain}
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindServiceChain, Name: chain, UID: "1", Controller: ptr.To(true),
	}}
	return p
}

// world is a cluster with the office: three revisions, the last of which two instances run.
type world struct {
	*Cluster
	programs  []*v1alpha1.ChainProgram
	instances []*v1alpha1.ChainInstance
	chain     *v1alpha1.ServiceChain
}

func newWorld(t *testing.T, more ...client.Object) *world {
	t.Helper()
	w := &world{programs: []*v1alpha1.ChainProgram{revision(t, 1, 1500, "25"), revision(t, 2, 9000, "25"), revision(t, 3, 9000, "25-26")}}
	w.programs[1].Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionRefused, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDropsJumped, Message: "instance office-0 lost 12 of 1000 packets",
	}}
	b := parsed(t, 9000, "25-26")
	w.chain = b.Chains[0]
	w.chain.UID, w.chain.Generation = types.UID("1"), 4
	w.chain.Status = v1alpha1.ServiceChainStatus{
		Status: v1alpha1.Status{ObservedGeneration: 4, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonForwarding, LastTransitionTime: ago(time.Hour), Message: "all instances forward"},
			{Type: v1alpha1.ConditionHardwareDispatch, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSoftwareDispatch, LastTransitionTime: ago(2 * time.Hour), Message: "inside:\nno flow rules"},
		}},
		Classes: 12, Cores: 4, Instances: 2, Program: w.programs[2].Name, PacketRate: 1_500_000, DropRate: 7,
		Functions: []v1alpha1.FunctionStatus{
			{Name: "ips", Ready: true, UtilizationPercent: 63, SentRate: 900_000, FullRate: 20_000, ReturnedRate: 899_000, PastRate: 600_000, LatencyMedianMicroseconds: 35, LatencyP99Microseconds: 1200, Replicas: []v1alpha1.ReplicaStatus{
				{Name: "ips1-inside", Ready: true, SentRate: 900_000, FullRate: 20_000, Flows: 4096}, {Name: "ips2-inside", Flows: 12},
			}},
			{Name: "shaper", SentRate: 10, Contradictions: []string{"DSCP", "TTLRaised"}},
		},
	}
	objects := []client.Object{w.chain, b.Functions[0], &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "acl"}, Data: map[string]string{"rules": rules("25-26")},
	}}
	for _, p := range w.programs {
		objects = append(objects, p)
	}
	for i := range 2 {
		n := &v1alpha1.ChainInstance{Spec: v1alpha1.ChainInstanceSpec{Chain: "office", Program: w.programs[2].Name, Cores: 2}}
		n.Namespace, n.Name = "lab", fmt.Sprintf("office-%d", i)
		n.Labels = map[string]string{v1alpha1.LabelChain: "office"}
		n.Status = v1alpha1.ChainInstanceStatus{
			Status:      v1alpha1.Status{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonForwarding}}},
			AppliedHash: w.programs[2].Spec.Hash, Node: fmt.Sprintf("node-%d", i), LoadPercent: 40, PacketRate: 750_000, DropRate: 3, LossRate: 1, Sessions: 1200, LostSessions: 5,
			EngineVersion: "1.4.0", Dispatch: []v1alpha1.InterfaceDispatch{
				{Interface: "inside", Dispatcher: v1alpha1.DispatcherSoftware, Reason: "no flow rules"}, {Interface: "outside", Dispatcher: v1alpha1.DispatcherFlow},
			},
			Cores: []v1alpha1.CoreStatus{{LCore: 2, LoadPercent: 40}, {LCore: 3, LoadPercent: 31}}, LastReportTime: ago(3 * time.Second),
		}
		w.instances = append(w.instances, n)
		objects = append(objects, n)
	}
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	w.Cluster = &Cluster{
		Client:    fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, more...)...).Build(),
		Namespace: "lab", Pods: fakePods{}, Now: func() time.Time { return now },
	}
	return w
}

// fakePods have logs, except of containers that are called mute.
type fakePods struct{}

func (fakePods) Log(_ context.Context, pod client.ObjectKey, container string, previous bool) ([]byte, error) {
	if container == "mute" {
		return nil, errors.New("container is waiting to start")
	}
	return fmt.Appendf(nil, "%s %s previous=%t\n", pod.Name, container, previous), nil
}

func (fakePods) Exec(context.Context, client.ObjectKey, string, []string, io.Reader, io.Writer) error {
	return errors.New("this cluster has no nodes")
}

func (fakePods) Server(context.Context) (Server, error) {
	return Server{Version: "v1.37.1", Time: now}, nil
}

func (fakePods) CPUManagerPolicy(context.Context, string) (string, error) { return "static", nil }

// says is what a command writes.
func says(t *testing.T, do func(w *strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := do(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// held is what the chain is held at.
func (w *world) held(t *testing.T) string {
	t.Helper()
	var chain v1alpha1.ServiceChain
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(w.chain), &chain); err != nil {
		t.Fatal(err)
	}
	return chain.Spec.RollbackTo
}
