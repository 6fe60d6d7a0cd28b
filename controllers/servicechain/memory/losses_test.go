package memory

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestTheCountOfLostSessionsGoesOnThoughInstancesGo(t *testing.T) {
	chain := types.NamespacedName{Namespace: "lab", Name: "edge"}
	var l Losses
	said := int64(0)
	for _, step := range []struct {
		what     string
		reported map[types.UID]int64
		want     int64
	}{
		{"the operator begins, and the one before has counted", map[types.UID]int64{"a": 3, "b": 4}, 7},
		{"one loses more", map[types.UID]int64{"a": 5, "b": 4}, 9},
		{"it goes", map[types.UID]int64{"b": 4}, 9},
		{"another one comes, and loses some", map[types.UID]int64{"b": 4, "c": 2}, 11},
		{"nothing happens", map[types.UID]int64{"b": 4, "c": 2}, 11},
	} {
		if said = l.Total(chain, said, step.reported); said != step.want {
			t.Fatalf("%s: %d sessions are lost, want %d", step.what, said, step.want)
		}
		l.Said(chain, step.reported)
	}
	l.Forget(chain)
	if got := l.Total(chain, 20, map[types.UID]int64{"b": 4}); got != 20 {
		t.Errorf("of a chain that is not remembered %d sessions are lost, want the 20 that were said", got)
	}
}
