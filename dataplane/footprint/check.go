package footprint

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/fib"
)

// maxTable is the most that an engine has for tables of routes that were made from each other (dataplane/engine/classify/sn_chunks.h).
const maxTable = 1 << 30

// MiB rounds up.
func MiB(bytes int64) int32 { return int32(min((bytes+mib-1)/mib, math.MaxInt32)) }

// Check tells whether a chain's engines have room for its tables of routes, and for all sessions that it may have; nil: they have. An engine that
// had not would be killed by whoever sends it enough. What was every chain's default once is no decision of anybody: if the engine runs with it, it is a warning.
func (f Footprint) Check(c *v1alpha1.ServiceChain, tables []*fib.Table) *finding.Finding {
	found := &finding.Finding{Object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}}
	for _, t := range tables {
		if n := t.EngineBytes(); 2*n > maxTable {
			found.Field = "spec.functions"
			found.Message = fmt.Sprintf("a table of routes takes %d MiB in an engine, and may take %d: give fewer prefixes that are longer than /24, or divide the chain", n/mib, maxTable/2/mib)
			return found
		}
	}
	has, total := c.Spec.Resources.Memory, f.Total(int(c.Spec.Scaling.OwnedCores()))
	if has.IsZero() || total <= has.Value() {
		return nil
	}
	found.Field, found.Value = "spec.resources.memory", has.String()
	wants := v1alpha1.MemoryFor(int64(MiB(total)))
	found.Message = fmt.Sprintf("an engine needs up to %d MiB%s; give it %s, leave it out, or lower maxSessions or maxFlows", MiB(total), f.parts(), wants.String())
	if has.Cmp(resource.MustParse(v1alpha1.FormerMemory)) == 0 && f.Least() <= has.Value() {
		found.Severity = finding.Warning
		found.Message += "; with as many sessions as the chain may have, the system ends the engine"
	}
	return found
}

// parts are the largest of what an engine needs.
func (f Footprint) parts() string {
	text := ""
	if n := MiB(f.State + f.Decisions); n > 0 {
		text = fmt.Sprintf(", %d of these for sessions and the like", n)
	}
	if n := MiB(f.Routes); n > 0 {
		text += fmt.Sprintf(", %d for tables of routes", n)
	}
	return text
}
