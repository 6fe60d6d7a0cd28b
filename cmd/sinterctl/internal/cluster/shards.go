package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/shard"
)

// ShardPlace is where some shards of a chain's state are: on a core, or on none yet. Scripts read it, so names stay.
type ShardPlace struct {
	Instance string `json:"instance"`
	Node     string `json:"node,omitempty"` // by its last report
	Ready    bool   `json:"ready"`
	Front    bool   `json:"front"`
	// Shared is true if the instances divide the chain's shards. Otherwise each has state of its own, in shards of its own.
	Shared bool      `json:"shared"`
	Group  string    `json:"group,omitempty"` // of traffic classes
	Core   *CoreLoad `json:"core,omitempty"`  // that owns the shards; nil: none does
	Shards []string  `json:"shards"`          // in ranges, such as "0-31"
	Count  int       `json:"count"`           // of shards
	// WorkPercent is the load of these shards, in percent of a core; nil: it is not known.
	WorkPercent *int32 `json:"workPercent,omitempty"`
	// HeldBy is another instance that still reports the shards.
	HeldBy         string      `json:"heldBy,omitempty"`
	Message        string      `json:"message,omitempty"` // why no core owns the shards, or why there are none
	LastReportTime metav1.Time `json:"lastReportTime,omitzero"`
}

// Shards are the places of a chain's shards, by instance and core.
func (c *Cluster) Shards(ctx context.Context, name string) ([]ShardPlace, error) {
	if _, err := c.chain(ctx, name); err != nil {
		return nil, err
	}
	instances, err := c.instances(ctx, client.MatchingLabels{v1alpha1.LabelChain: name})
	if err != nil {
		return nil, err
	}
	return placesOf(instances)
}

// placesOf are the places of the shards of a chain's instances. Each instance has one place at least.
func placesOf(instances []v1alpha1.ChainInstance) ([]ShardPlace, error) {
	holders := make([]holder, len(instances))
	for i := range instances {
		var err error
		if holders[i], err = holderOf(&instances[i]); err != nil {
			return nil, fmt.Errorf("ChainInstance %s: %w", instances[i].Name, err)
		}
	}
	out := []ShardPlace{}
	for i := range holders {
		h := &holders[i]
		places := h.onCores()
		if h.keepsNoState() {
			places = append(places, h.place("", shard.Set{}, "the chain keeps no state, so there are no shards"))
		} else {
			places = append(places, h.onNone(holders)...)
		}
		if len(places) == 0 {
			places = append(places, h.place("", shard.Set{}, joined("no shards are assigned to it", h.unready())))
		}
		out = append(out, places...)
	}
	return out, nil
}

// ShardsText writes the places of a chain's shards for people; wide: with all that is known of the instance and the core.
func (c *Cluster) ShardsText(w io.Writer, chain string, places []ShardPlace, wide bool) error {
	if len(places) == 0 {
		_, err := fmt.Fprintf(w, "chain %s %s has no instances; its status says why\n", chain, where(c.Namespace))
		return err
	}
	columns := "INSTANCE\tNODE\tCORE\tSHARDS\tCOUNT\tLOAD%"
	if wide {
		columns += "\tREADY\tFRONT\tSHARED\tGROUP\tWORK%\tCYCLES/PACKET\tLOST\tREPORTED"
	}
	notes := slices.ContainsFunc(places, func(p ShardPlace) bool { return p.Message != "" })
	if notes {
		columns += "\tNOTE"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, columns)
	for i := range places {
		p := &places[i]
		core, load, cycles, lost := "-", "-", "-", "-"
		if k := p.Core; k != nil {
			core, load, cycles, lost = fmt.Sprint(k.LCore), fmt.Sprint(k.LoadPercent), fmt.Sprint(k.CyclesPerPacket), fmt.Sprint(k.Lost)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s", p.Instance, cmp.Or(p.Node, "-"), core, cmp.Or(strings.Join(p.Shards, ","), "-"), p.Count, load)
		if wide {
			work := "-"
			if p.WorkPercent != nil {
				work = fmt.Sprint(*p.WorkPercent)
			}
			fmt.Fprintf(t, "\t%t\t%t\t%t\t%s\t%s\t%s\t%s\t%s", p.Ready, p.Front, p.Shared, cmp.Or(p.Group, "-"), work, cycles, lost, c.age(p.LastReportTime))
		}
		if notes {
			fmt.Fprintf(t, "\t%s", cmp.Or(p.Message, "-"))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
