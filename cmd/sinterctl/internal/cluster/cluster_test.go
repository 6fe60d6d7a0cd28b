package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/explain"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
)

func TestStatusShowsChainConditionsInstancesAndTheLoadOfEachCore(t *testing.T) {
	w := newWorld(t)
	golden(t, "status.txt", says(t, func(b *strings.Builder) error { return w.showStatus(t.Context(), b, "office", false) }))
	if all := says(t, func(b *strings.Builder) error { return w.showStatus(t.Context(), b, "", false) }); !strings.HasPrefix(all, "lab/office: ") {
		t.Errorf("without a name the status is of %q", all)
	}
	w.Namespace = "empty"
	if got := says(t, func(b *strings.Builder) error { return w.showStatus(t.Context(), b, "", false) }); got != "no chains in namespace empty\n" {
		t.Errorf("a namespace without chains has the status %q", got)
	}
}

func TestNamesForCompletion(t *testing.T) {
	w := newWorld(t)
	if got := strings.Join(w.ChainNames(t.Context()), " "); got != "office" {
		t.Errorf("chains are %q, want office", got)
	}
	if got := strings.Join(w.Interfaces(t.Context(), "office"), " "); got != "inside outside" {
		t.Errorf("interfaces are %q, want inside and outside", got)
	}
	if got := w.Interfaces(t.Context(), "none"); got != nil {
		t.Errorf("a chain that there is not has the interfaces %q", got)
	}
	want := []string{
		"1\t" + w.programs[0].Name,
		"2\t" + w.programs[1].Name + ", refused: instance office-0 lost 12 of 1000 packets",
		"3\t" + w.programs[2].Name + ", running on 2 of 2 instances",
	}
	if got := w.Revisions(t.Context(), "office"); !slices.Equal(got, want) {
		t.Errorf("revisions are %q, want %q", got, want)
	}
	if got := w.Revisions(t.Context(), "none"); got != nil {
		t.Errorf("a chain that there is not has the revisions %q", got)
	}
	if got := strings.Join(w.InstanceNames(t.Context(), "office"), " "); got != "office-0 office-1" {
		t.Errorf("instances are %q, want two of office", got)
	}
	third, err := delivery.Unpack(w.programs[2])
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Running(t.Context(), "office"); !proto.Equal(got, third.Program) {
		t.Errorf("the program that runs is %v, want revision 3", got)
	}
	if got, none := w.Running(t.Context(), "none"), w.InstanceNames(t.Context(), "none"); got != nil || none != nil {
		t.Errorf("a chain that there is not has instances %q and program %v", none, got)
	}
	lab := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}
	if err := w.Client.Create(t.Context(), lab); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.Namespaces(t.Context()), " "); got != "lab" {
		t.Errorf("namespaces are %q, want lab", got)
	}
}

func TestProgramsSaysWhichRevisionRunsAndWhichWasRefused(t *testing.T) {
	w := newWorld(t)
	golden(t, "programs.txt", says(t, func(b *strings.Builder) error { return w.showPrograms(t.Context(), b, "office", false) }))
}

func TestDiffShowsClassByClassWhatAnotherRevisionDoesToWhichPackets(t *testing.T) {
	for file, revisions := range map[string][2]string{
		"diff-mtu.txt":   {"1", "2"},
		"diff-rules.txt": {"2", "3"},
		"diff-same.txt":  {"2", "2"},
	} {
		t.Run(file, func(t *testing.T) {
			w := newWorld(t)
			golden(t, file, says(t, func(b *strings.Builder) error {
				return w.showDiff(t.Context(), b, "office", revisions[0], revisions[1])
			}))
		})
	}
}

func TestADamagedProgramIsToldAsSuch(t *testing.T) {
	w := newWorld(t)
	w.programs[0].Spec.Hash = strings.Repeat("0", 64)
	if err := w.Client.Update(t.Context(), w.programs[0]); err != nil {
		t.Fatal(err)
	}
	_, err := w.Diff(t.Context(), "office", "1", "2")
	if err == nil || !strings.Contains(err.Error(), "ChainProgram "+w.programs[0].Name+": hash: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestRollbackHoldsTheChainAtARevisionUntilItIsUndone(t *testing.T) {
	w := newWorld(t)
	first := w.programs[0].Name
	rollback := func(rev string) string {
		return says(t, func(b *strings.Builder) error { return w.Rollback(t.Context(), b, "office", rev) })
	}
	undo := func() string {
		return says(t, func(b *strings.Builder) error { return w.Undo(t.Context(), b, "office") })
	}
	if did := rollback("1"); w.held(t) != first || !strings.Contains(did, "spec.rollbackTo is now "+first+"; it ran "+w.programs[2].Name) {
		t.Errorf("the chain is held at %q, and it said %q; want %s", w.held(t), did, first)
	}
	if did := rollback(first); !strings.Contains(did, "already; nothing was written") {
		t.Errorf("the second time it said %q", did)
	}
	if state := says(t, func(b *strings.Builder) error { return w.showPrograms(t.Context(), b, "office", false) }); !strings.Contains(state, "held by rollbackTo") {
		t.Errorf("programs says nothing of it: %s", state)
	}
	if did := rollback("2"); !strings.HasPrefix(did, "warning: revision 2 did not do well before: instance office-0 lost") {
		t.Errorf("of a refused program it said %q", did)
	}
	if did := undo(); !strings.Contains(did, "is taken away") || w.held(t) != "" {
		t.Errorf("undone, the chain is held at %q, and it said %q", w.held(t), did)
	}
	if did := undo(); !strings.Contains(did, "nothing was written") {
		t.Errorf("with nothing to undo it said %q", did)
	}
}

func TestErrorsNameWhatThereIs(t *testing.T) {
	w := newWorld(t)
	stranger := revision(t, 9, 1400, "25")
	stranger.Name, stranger.OwnerReferences = "stranger", nil
	if err := w.Client.Create(t.Context(), withoutVersion(stranger)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a revision that was never":            {w.Rollback(t.Context(), io.Discard, "office", "7"), `chain office: revision "7": the chain has 1, 2, 3`},
		"a program that is not the chain's":    {w.Rollback(t.Context(), io.Discard, "office", "stranger"), `revision "stranger"`},
		"a chain that is misspelt":             {failure(w.Programs(t.Context(), "ofice")), `no chain "ofice" in namespace lab`},
		"a second revision that was never":     {failure(w.Diff(t.Context(), "office", "1", "x")), `revision "x"`},
		"a status of a chain that is misspelt": {failure(w.Status(t.Context(), "ofice")), `office`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
				t.Errorf("the error is %v, want it to say %s", c.err, c.says)
			}
		})
	}
	if w.held(t) != "" {
		t.Error("a rollback that failed has written")
	}
}

func withoutVersion[T client.Object](o T) T {
	o.SetResourceVersion("")
	return o
}

func TestTheLiveChainCompilesToWhatItsInstancesRun(t *testing.T) {
	w := newWorld(t)
	c, err := w.Compile(t.Context(), "office")
	if err != nil {
		t.Fatal(err)
	}
	if c.Hash != w.programs[2].Spec.Hash || len(c.Findings) > 0 {
		t.Errorf("the program is %s with warnings %q; the operator made %s", c.Hash, c.Findings, w.programs[2].Spec.Hash)
	}
	if _, err := explain.New(c.Graph, c.Result).Interface("inside"); err != nil {
		t.Error(err)
	}

	w.instances[1].Status.AppliedHash = w.programs[0].Spec.Hash
	if err := w.Client.Update(t.Context(), w.instances[1]); err != nil {
		t.Fatal(err)
	}
	if c, err = w.Compile(t.Context(), "office"); err != nil {
		t.Fatal(err)
	}
	if len(c.Findings) != 1 || !strings.HasPrefix(c.Findings[0].Message, "instance office-1 runs program "+w.programs[0].Spec.Hash[:10]+", not") {
		t.Errorf("an instance runs another program, and the warnings are %q", c.Warnings())
	}

	if err := w.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "acl"}}); err != nil {
		t.Fatal(err)
	}
	if _, err = w.Compile(t.Context(), "office"); err == nil || !strings.Contains(err.Error(), "chain office: get ConfigMap lab/acl") {
		t.Errorf("without its ConfigMap the error is %v", err)
	}
}

func TestAWatchGoesOnWhenTheServerDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time, 3)
	tick <- now
	tick <- now
	asked, shown := 0, []string{}
	err := Watch(ctx, tick, func(w io.Writer) error {
		if asked++; asked == 2 {
			return errors.New("connection refused")
		}
		_, err := io.WriteString(w, "fine\n")
		return err
	}, func(text []byte) error {
		if shown = append(shown, string(text)); len(shown) == 3 {
			cancel()
		}
		return nil
	})
	if got := strings.Join(shown, ""); err != nil || got != "fine\nerror: connection refused\nfine\n" {
		t.Errorf("it showed %q and ended with %v", got, err)
	}
}

func TestAChainOfAServiceIsExplainedWithItsEndpoints(t *testing.T) {
	w := newWorld(t)
	w.chain.Spec.Functions[2] = v1alpha1.Function{Name: "lb", FunctionKinds: v1alpha1.FunctionKinds{LoadBalancer: &v1alpha1.LoadBalancer{
		Virtual:      []v1alpha1.VirtualService{{Addresses: []v1alpha1.Address{"198.51.100.40"}, Ports: []intstr.IntOrString{intstr.FromInt32(80)}}},
		BackendsFrom: &v1alpha1.BackendsFrom{ServiceRef: &v1alpha1.ServiceRef{Name: "web"}},
	}}}
	w.chain.Spec.Path = []v1alpha1.Endpoint{"inside", "fw", "rt", "lb", "outside"}
	if err := w.Client.Update(t.Context(), w.chain); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Compile(t.Context(), "office"); err == nil || !strings.Contains(err.Error(), "chain office: endpoints of Service lab/web: there are none now") {
		t.Errorf("without endpoints: %v", err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "lab", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.77"}}},
	}
	if err := w.Client.Create(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
	c, err := w.Compile(t.Context(), "office")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c.Result.Program.GetTables() {
		if b := table.GetBalancer().GetBackends(); table.GetName() == "lb/balancer" && len(b) == 1 && b[0].GetAddress() == 0x0a00004d && b[0].GetPort() == 8080 {
			return
		}
	}
	t.Error("the endpoint is no backend")
}
