package compile

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/footprint"
)

const (
	mib = 1 << 20
	// maxTable is the most that an engine has for tables of routes that were made from each other (dataplane/engine/classify/sn_chunks.h).
	maxTable = 1 << 30
)

// agentMemory is the memory in MiB with which an agent builds tables from texts of so many bytes: 16 times as much. It doubles where it changes, as a
// change replaces pods.
func agentMemory(bytes int) int32 {
	n := int32(256)
	for ; int(n)*mib < 16*bytes; n *= 2 {
	}
	return n
}

// inMiB rounds up.
func inMiB(bytes int64) int32 { return int32(min((bytes+mib-1)/mib, math.MaxInt32)) }

// checkEngineMemory tells whether a chain's engines have room for its tables of routes, and for all sessions that it may have. An engine that had not
// would be killed by whoever sends it enough. What was every chain's default once is no decision of anybody: if the engine runs with it, it is a warning.
func checkEngineMemory(c *v1alpha1.ServiceChain, need footprint.Footprint, tables []*fib.Table) *finding.Finding {
	f := &finding.Finding{Object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name}}
	for _, t := range tables {
		if n := t.EngineBytes(); 2*n > maxTable {
			f.Field = "spec.functions"
			f.Message = fmt.Sprintf("a table of routes takes %d MiB in an engine, and may take %d: give fewer prefixes that are longer than /24, or divide the chain", n/mib, maxTable/2/mib)
			return f
		}
	}
	has, total := c.Spec.Resources.Memory, need.Total(int(c.Spec.Scaling.OwnedCores()))
	if has.IsZero() || total <= has.Value() {
		return nil
	}
	f.Field, f.Value = "spec.resources.memory", has.String()
	wants := v1alpha1.MemoryFor(int64(inMiB(total)))
	f.Message = fmt.Sprintf("an engine needs up to %d MiB%s; give it %s, leave it out, or lower maxSessions or maxFlows", inMiB(total), parts(need), wants.String())
	if has.Cmp(resource.MustParse(v1alpha1.FormerMemory)) == 0 && need.Least() <= has.Value() {
		f.Severity = finding.Warning
		f.Message += "; with as many sessions as the chain may have, the system ends the engine"
	}
	return f
}

// parts are the largest of what an engine needs.
func parts(need footprint.Footprint) string {
	text := ""
	if n := inMiB(need.State + need.Decisions); n > 0 {
		text = fmt.Sprintf(", %d of these for sessions and the like", n)
	}
	if n := inMiB(need.Routes); n > 0 {
		text += fmt.Sprintf(", %d for tables of routes", n)
	}
	return text
}
