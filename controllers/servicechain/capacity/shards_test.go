package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
	"github.com/sinter-nfv/sinter/controllers/servicechain/fleet"
	"github.com/sinter-nfv/sinter/test/fleettest"
)

func TestAnInstanceGetsNoShardsBeforeItsPeersKnowWhereToSendTheirPackets(t *testing.T) {
	a, b := fleettest.Sharer("a", "0-127"), fleettest.Sharer("b")
	f := &fleet.Fleet{Pods: map[string]*corev1.Pod{"a": fleettest.PodOf(&a), "b": fleettest.PodOf(&b)}}
	for _, known := range []bool{false, true} {
		if known {
			b.Status.Interfaces = []v1alpha1.InterfaceMAC{{Name: "inside", MAC: "02:00:00:00:00:0b"}}
		}
		f.Instances = []v1alpha1.ChainInstance{a, b}
		in, _, err := newShared().See(fleettest.At(1000), scaling.Bounds{}, nil, f)
		if err != nil || !in.Pods[0].Ready || in.Pods[1].Ready != known {
			t.Errorf("addresses known: %t: pods are %+v, %v", known, in.Pods, err)
		}
	}
}
