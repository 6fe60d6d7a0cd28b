package clocks

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAWrongClockOfANodeIsToldByItsLease(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]string{
		0: "", 6 * time.Second: "", 7 * time.Second: "7s ahead", 2*time.Hour + 300*time.Millisecond: "2h0m0s ahead",
		-time.Minute: "", -61 * time.Second: "1m1s behind",
	} {
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(now.Add(ahead)))}}
		if got := Node(lease, now); got != want {
			t.Errorf("a clock that is %s ahead is %q, want %q", ahead, got, want)
		}
	}
	if got := Node(&coordinationv1.Lease{}, now); got != "" {
		t.Errorf("a lease that nobody renewed says %q", got)
	}
}
