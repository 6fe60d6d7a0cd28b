package scaling

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/load"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

func TestAPlanIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plan PodPlan
		for _, group := range []string{"dns", "web"} {
			for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 127), 0, 128, rapid.ID[int]).Draw(t, group) {
				plan.Shards = append(plan.Shards, shard.ID{Group: group, Number: n})
			}
		}
		var got []shard.ID
		for _, g := range plan.Groups() {
			set, err := Shards(g.Name, g.Shards)
			if err != nil {
				t.Fatal(err)
			}
			for n := range set.All() {
				got = append(got, shard.ID{Group: string(g.Name), Number: n})
			}
		}
		if slices.SortFunc(plan.Shards, shard.ID.Compare); !slices.Equal(got, plan.Shards) {
			t.Fatalf("%v, want %v", got, plan.Shards)
		}
	})
}

func TestAPlanIsWrittenInRuns(t *testing.T) {
	plan := PodPlan{Cores: 2, Shards: []shard.ID{{Group: "web", Number: 9}, {Group: "web", Number: 1}, {Group: "web", Number: 0}, {Group: "web", Number: 2}, {Group: "dns", Number: 5}}}
	got := plan.Groups()
	if len(got) != 2 || got[0].Name != "dns" || !slices.Equal(got[1].Shards, []v1alpha1.ShardRange{"0-2", "9"}) || !slices.Equal(got[1].Cores, []int32{0, 1}) {
		t.Errorf("groups %+v, want dns with 5 and web with 0-2 and 9, on cores 0 and 1", got)
	}
}

func TestARangeThatIsNoneIsRefusedByGroup(t *testing.T) {
	if _, err := Shards("web", []v1alpha1.ShardRange{"0-3", "5-2"}); err == nil || !strings.Contains(err.Error(), `group web: shards: "5-2": not a shard`) {
		t.Errorf("%v, want an error that names group and range", err)
	}
}

func TestAReportSaysOfEachShardWhoHasItAndWhatItWants(t *testing.T) {
	at := metav1.NewTime(epoch)
	i := &v1alpha1.ChainInstance{
		Spec: v1alpha1.ChainInstanceSpec{Groups: []v1alpha1.InstanceGroup{{Name: "all", Shards: []v1alpha1.ShardRange{"0-2", "5"}, Cores: []int32{0, 1}}}},
		Status: v1alpha1.ChainInstanceStatus{
			LastReportTime: at,
			Cores:          []v1alpha1.CoreStatus{{LCore: 6}, {LCore: 2}},
			Groups: []v1alpha1.GroupStatus{{
				Name: "all", Work: []int32{250, 0, 1300, 70},
				Owners: []v1alpha1.CoreShards{{LCore: 6, Shards: []v1alpha1.ShardRange{"0-1"}}, {LCore: 2, Shards: []v1alpha1.ShardRange{"2-5"}}},
			}},
		},
	}
	got, err := ReportOf(i)
	want := []load.Shard{
		{ID: shard.ID{Group: "all", Number: 0}, Core: 0, Work: 0.25},
		{ID: shard.ID{Group: "all", Number: 1}, Core: 0},
		{ID: shard.ID{Group: "all", Number: 2}, Core: 1, Work: 1.3},
		{ID: shard.ID{Group: "all", Number: 5}, Core: 1}, // after the last that wants anything
	}
	if err != nil || !slices.Equal(got.Shards, want) || !got.At.Equal(epoch) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if n := i.WorkingCores(); n != 2 {
		t.Errorf("%d cores work, want 2", n)
	}
	i.Status.Groups[0].Owners[0].Shards = []v1alpha1.ShardRange{"7-"}
	if _, err := ReportOf(i); err == nil || !strings.Contains(err.Error(), `"7-"`) {
		t.Errorf("%v, want an error that names the range", err)
	}
}

func TestWhatCoresDidIsCountedFromReportToReport(t *testing.T) {
	before := []v1alpha1.CoreStatus{{LCore: 2, Packets: 1000, Lost: 10}, {LCore: 3, Packets: 500}}
	for name, c := range map[string]struct {
		before, now []v1alpha1.CoreStatus
		want        []load.Core
	}{
		"what was added": {before, []v1alpha1.CoreStatus{{LCore: 2, Packets: 3000, Lost: 40, Other: 120}, {LCore: 3, Packets: 500}}, []load.Core{{Packets: 2000, Lost: 30, Other: 0.12}, {}}},
		"another engine": {before, []v1alpha1.CoreStatus{{LCore: 2, Packets: 700, Lost: 50}, {LCore: 3, Packets: 501}}, []load.Core{{}, {Packets: 1}}},
		"other CPUs":     {before, []v1alpha1.CoreStatus{{LCore: 4, Packets: 9000, Lost: 90}, {LCore: 3, Packets: 500}}, []load.Core{{}, {}}},
		"no report yet":  {nil, before, []load.Core{{}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CoresSince(c.before, c.now); !slices.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
