package telemetry

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// around has a router between two interfaces, and a proxy that nobody watches, beside functions of other attachments.
func around(t *testing.T, down ...bool) *Seen {
	t.Helper()
	count := func(n uint64) *controlpb.Stats {
		s := through(n)
		for name, packets := range map[string][2]uint64{"hop-in": {n, 2 * n}, "hop-out": {4 * n, 8 * n}, "proxies": {16 * n, 32 * n}} {
			s.Ports = append(s.Ports, &controlpb.PortStats{Interface: name, TxPackets: packets[0], RxPackets: packets[1]})
		}
		return s
	}
	s := seeing(t, count(1000), count(3000))
	p := s.State.Program
	p.Interfaces = append(p.Interfaces,
		&programpb.Interface{Name: "hop-in", Address: 0xac1f0001, PrefixLen: 30, Function: "hop", Watched: 0xac1f0002},
		&programpb.Interface{Name: "hop-out", Address: 0xac1f0005, PrefixLen: 30, Function: "hop", Watched: 0xac1f0006},
		&programpb.Interface{Name: "proxies", Address: 0xac1f0009, PrefixLen: 29, Function: "proxy"},
	)
	s.Now.Stats.Hosts = []*controlpb.HostStats{{Interface: "hop-in", Address: 0xac1f0002}, {Interface: "hop-out", Address: 0xac1f0006}}
	for i := range down {
		s.Now.Stats.Hosts[i].Down = down[i]
	}
	s.Now.Stats.Wires = nil
	return s
}

func TestTheStatusHasFunctionsThatAreHosts(t *testing.T) {
	s := around(t, false, true)
	seconds := int64(s.Now.At.Sub(s.Before.At).Seconds())
	got := s.Status(nil).Functions
	want := []v1alpha1.FunctionStatus{
		{Name: "hop", SentRate: 10000 / seconds, ReturnedRate: 20000 / seconds},
		{Name: "proxy", Ready: true, SentRate: 32000 / seconds, ReturnedRate: 64000 / seconds},
	}
	if !slices.EqualFunc(got, want, sameFunction) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheConditionOfFunctionsNamesHostsThatDoNotAnswer(t *testing.T) {
	const near, far, dropped = "172.31.0.2 at hop-in", "172.31.0.6 at hop-out", " does not answer ARP: packets for it are dropped as neighbor-unresolved"
	for name, c := range map[string]struct {
		down            []bool
		status          metav1.ConditionStatus
		reason, message string
	}{
		"both answer":  {nil, metav1.ConditionTrue, v1alpha1.ReasonAnswering, near + ", " + far + ": ARP is answered"},
		"one does not": {[]bool{true}, metav1.ConditionFalse, v1alpha1.ReasonFunctionDown, near + dropped + "; " + far + ": ARP is answered"},
		"neither does": {[]bool{true, true}, metav1.ConditionFalse, v1alpha1.ReasonFunctionDown, near + dropped + "; " + far + dropped},
	} {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(around(t, c.down...).Status(nil).Conditions, v1alpha1.ConditionFunctionsUp)
			if got == nil || got.Status != c.status || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got %v\nwant %s, %s: %q", got, c.status, c.reason, c.message)
			}
		})
	}
}

// A host that is down drops packets, so the reason stays, whatever an open function beside it does.
func TestAHostThatIsDownIsTheReasonBesideAnOpenFunction(t *testing.T) {
	s := watching(t, false, false, true)
	s.State.Program.Interfaces = append(s.State.Program.Interfaces, &programpb.Interface{Name: "hop", Function: "hop", Address: 0xac1f0001, Watched: 0xac1f0002})
	s.Now.Stats.Hosts = []*controlpb.HostStats{{Interface: "hop", Address: 0xac1f0002, Down: true}}
	if got := meta.FindStatusCondition(s.Status(nil).Conditions, v1alpha1.ConditionFunctionsUp); got == nil || got.Reason != v1alpha1.ReasonFunctionDown {
		t.Errorf("got %v, want reason %s", got, v1alpha1.ReasonFunctionDown)
	}
}
