package caching

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// A rollout is watched, and cores are given up, by how old a report is. With the agent's own word, a clock that is an hour behind would end both.
func TestAReportIsAsOldAsTheAPIServerSays(t *testing.T) {
	wrong, right := metav1.Date(2026, 11, 28, 11, 0, 0, 0, time.UTC), metav1.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	i := &v1alpha1.ChainInstance{}
	i.Status.LastReportTime = wrong
	i.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "sinter-agent", Subresource: "status", Time: &right, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:lastReportTime":{},"f:packetRate":{}}}`)},
		{Manager: "sinter-chaininstance", Subresource: "status", Time: new(metav1.NewTime(right.Add(time.Minute))), FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)},
	}
	for o, by := range Options().ByObject {
		if _, ok := o.(*v1alpha1.ChainInstance); !ok {
			continue
		}
		kept, err := by.Transform(i)
		if err != nil {
			t.Fatal(err)
		}
		got := kept.(*v1alpha1.ChainInstance)
		if !got.Status.LastReportTime.Equal(&right) || got.ManagedFields != nil {
			t.Errorf("the report is of %s, and managedFields are %v; want %s, and none", got.Status.LastReportTime, got.ManagedFields, right)
		}
		return
	}
	t.Error("instances are kept as they come")
}
