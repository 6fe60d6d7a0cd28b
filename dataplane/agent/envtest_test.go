package agent

import (
	"fmt"
	"os"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sinter-nfv/sinter/api/rights"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/engine"
	"github.com/sinter-nfv/sinter/dataplane/agent/telemetry"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/test/agenttest"
)

// A real API server checks what the fake cannot: the schema, the field selector, ownership, and that the agent's role suffices.
func TestAnAgentWithItsOwnRoleWorksWithARealAPIServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; make test-envtest builds one and sets it")
	}
	env, admin := agenttest.StartAPI(t)
	head := metav1.ObjectMeta{Namespace: "default", Name: "agent"}
	role := &rbacv1.Role{ObjectMeta: head, Rules: rights.Agent([]string{"edge-0"}, []string{"edge-1", "edge-2"})}
	first, second := agenttest.Program(t, "first", "in", "out"), agenttest.Program(t, "second", "in", "out")
	other := agenttest.Instance("edge-1")
	other.Name = "edge-1"
	create(t, admin, role, &rbacv1.RoleBinding{
		ObjectMeta: head, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "agent"}},
	}, agenttest.ChainProgram(t, "edge-1", first), agenttest.ChainProgram(t, "edge-2", second), agenttest.Instance("edge-1"), other)
	user, err := env.AddUser(envtest.User{Name: "agent"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := NewClient(user.Config())
	if err != nil {
		t.Fatal(err)
	}
	p := startPod(t, own, agenttest.Quiet)

	instance := func() *v1alpha1.ChainInstance {
		var i v1alpha1.ChainInstance
		if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "edge-0"}, &i); err != nil {
			t.Fatal(err)
		}
		return &i
	}
	reported := func(want *delivery.Program) {
		t.Helper()
		agenttest.Eventually(t, func() error {
			i := instance()
			if reason, message := agenttest.Programmed(i); reason != v1alpha1.ReasonApplied || i.Status.ObservedGeneration != i.Generation {
				return fmt.Errorf("generation %d: status of %d says %s: %s", i.Generation, i.Status.ObservedGeneration, reason, message)
			}
			return agenttest.Wants(i.Status.AppliedHash, want)
		})
	}
	reported(first)
	agenttest.Change(t, admin, func(spec *v1alpha1.ChainInstanceSpec) { spec.Program = "edge-2" })
	reported(second)
	for _, f := range instance().ManagedFields {
		if f.Subresource == "status" && (f.Manager != telemetry.FieldManager || f.Operation != metav1.ManagedFieldsOperationApply) {
			t.Errorf("status is owned by %s (%s), want %s by apply", f.Manager, f.Operation, telemetry.FieldManager)
		}
	}

	ownAlone(t, own, other)
	rests(t, instance)
	if n := p.reporter.Writes.Failed.Load(); n != 0 {
		t.Errorf("%d writes failed", n)
	}
}

// ownAlone tells whether an agent may not write the status of another chain's instance.
func ownAlone(t *testing.T, agent client.Client, other *v1alpha1.ChainInstance) {
	t.Helper()
	forged := other.DeepCopy()
	forged.Status.AppliedHash = "forged"
	if err := agent.Status().Patch(t.Context(), forged, client.MergeFrom(other)); !apierrors.IsForbidden(err) {
		t.Errorf("the status of another chain's instance is written by the agent: %v; want that this is forbidden", err)
	}
}

// rests tells whether an instance is left alone once nothing more is to be said of it.
func rests(t *testing.T, instance func() *v1alpha1.ChainInstance) {
	t.Helper()
	time.Sleep(engine.Settled + 2*time.Second) // the numbers of the new program are reported once
	quiet := instance().ResourceVersion
	time.Sleep(5 * time.Second)
	if now := instance().ResourceVersion; now != quiet {
		t.Errorf("the instance was written without need: version %s, then %s", quiet, now)
	}
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
