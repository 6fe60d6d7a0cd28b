package scaling

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func TestAPlanIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plan PodPlan
		for _, group := range []string{"dns", "web"} {
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 127), 0, 128, rapid.ID[int]).Draw(t, group) {
				plan.Shards = append(plan.Shards, Shard{group, n})
			}
		}
		got, err := ShardsOf(plan.Groups())
		slices.SortFunc(plan.Shards, Shard.compare)
		if err != nil || !slices.Equal(got, plan.Shards) {
			t.Fatalf("%v, %v, want %v", got, err, plan.Shards)
		}
	})
}

func TestAPlanIsWrittenInRuns(t *testing.T) {
	plan := PodPlan{Cores: 2, Shards: []Shard{{"web", 9}, {"web", 1}, {"web", 0}, {"web", 2}, {"dns", 5}}}
	got := plan.Groups()
	if len(got) != 2 || got[0].Name != "dns" || !slices.Equal(got[1].Shards, []v1alpha1.ShardRange{"0-2", "9"}) || !slices.Equal(got[1].Cores, []int32{0, 1}) {
		t.Errorf("groups %+v, want dns with 5 and web with 0-2 and 9, on cores 0 and 1", got)
	}
}

func TestARangeThatIsNoneIsRefused(t *testing.T) {
	for _, text := range []v1alpha1.ShardRange{"", "a", "3-", "-3", "5-2", "0-70000", "1-2-3"} {
		_, err := ShardsOf([]v1alpha1.InstanceGroup{{Name: "web", Shards: []v1alpha1.ShardRange{text}}})
		if err == nil || !strings.Contains(err.Error(), "group web: shards: \""+string(text)+"\"") {
			t.Errorf("%q: %v, want an error that names it", text, err)
		}
	}
}
