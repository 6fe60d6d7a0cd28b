package compile

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/fib"
)

const (
	mib = 1 << 20
	// engineOwn is the memory that an engine needs beside its hugepages and tables of routes.
	engineOwn = 64 * mib
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

// checkEngineMemory tells whether a chain's engines have room for its tables of routes. An engine that had not would be killed.
func checkEngineMemory(c *v1alpha1.ServiceChain, tables []*fib.Table) *finding.Finding {
	has := c.Spec.Resources.EngineMemory()
	largest, sum := 0, 0
	for _, t := range tables {
		n := t.EngineBytes()
		largest, sum = max(largest, n), sum+n
	}
	f := &finding.Finding{
		Object: finding.Object{Kind: v1alpha1.KindServiceChain, Namespace: c.Namespace, Name: c.Name},
		Field:  "spec.resources.memory", Value: has.String(),
	}
	need := engineOwn + 2*sum // the next tables are built beside those that run
	switch {
	case 2*largest > maxTable:
		f.Field, f.Value = "spec.functions", ""
		f.Message = fmt.Sprintf("a table of routes takes %d MiB in an engine, and may take %d: give fewer prefixes that are longer than /24, or divide the chain", largest/mib, maxTable/2/mib)
	case int64(need) > has.Value():
		f.Message = fmt.Sprintf("an engine needs up to %d MiB for the chain's tables of routes; give it %dMi at least", need/mib, (need/mib/64+1)*64)
	default:
		return nil
	}
	return f
}
