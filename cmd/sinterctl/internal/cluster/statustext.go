package cluster

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// StatusText writes chains for people; wide: with all that may be of interest of an instance.
func (c *Cluster) StatusText(w io.Writer, chains []Chain, wide bool) error {
	for i := range chains {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := c.writeStatus(w, &chains[i], wide); err != nil {
			return err
		}
	}
	if len(chains) == 0 {
		fmt.Fprintln(w, "no chains", where(c.Namespace))
	}
	return nil
}

func where(namespace string) string {
	if namespace == "" {
		return "in any namespace"
	}
	return "in namespace " + namespace
}

func (c *Cluster) writeStatus(w io.Writer, chain *Chain, wide bool) error {
	fmt.Fprintf(w, "%s/%s: program %s, %d classes, %d instances, %d cores, %d packets/s, %d drops/s\n",
		chain.Namespace, chain.Name, cmp.Or(chain.Program, "none"), chain.Classes, chain.RunningInstances, chain.Cores, chain.PacketRate, chain.DropRate)
	if chain.ObservedGeneration != chain.Generation {
		fmt.Fprintln(w, " ", unseen(chain.Generation, chain.ObservedGeneration))
	}
	if r := chain.Rollout; r != nil {
		fmt.Fprintf(w, "  rollout of %s: %d of %d instances run it; now %s\n", r.Program, r.Updated, len(chain.Instances), cmp.Or(r.Instance, "none"))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(chain.Conditions) > 0 {
		fmt.Fprintln(t, "  CONDITION\tSTATUS\tFOR\tREASON\tMESSAGE")
	}
	for _, k := range chain.Conditions {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", k.Type, k.Status, c.age(k.LastTransitionTime), k.Reason, oneLine(k.Message))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	writeFunctions(t, chain.Functions)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(chain.Instances) > 0 {
		columns := "  INSTANCE\tREADY\tNODE\tCORES\tLOAD\tPACKETS/S\tDROPS/S\tSESSIONS\tREPORTED\tPROGRAM"
		if wide {
			columns += "\tFRONT\tLOST/S\tLOST SESSIONS\tDISPATCH\tENGINE\tAPPLIED HASH"
		}
		fmt.Fprintln(t, columns)
	}
	for i := range chain.Instances {
		n := &chain.Instances[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s", n.Name, ready(n.Conditions), cmp.Or(n.Node, "-"), n.Cores, load(n),
			n.PacketRate, n.DropRate, n.Sessions, c.age(n.LastReportTime), n.Program)
		if wide {
			fmt.Fprintf(t, "\t%t\t%d\t%d\t%s\t%s\t%s", n.Front, n.LossRate, n.LostSessions, dispatch(n), cmp.Or(n.EngineVersion, "-"), cmp.Or(n.AppliedHash, "-"))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func writeFunctions(t io.Writer, functions []Function) {
	if len(functions) > 0 {
		fmt.Fprintln(t, "  FUNCTION\tREADY\tUSED\tSENT/S\tFULL/S\tRETURNED/S\tPAST/S\tMEDIAN\tP99\tCONTRADICTIONS")
	}
	for i := range functions {
		f := &functions[i]
		fmt.Fprintf(t, "  %s\t%t\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", f.Name, f.Ready, used(f), f.SentRate, f.FullRate, f.ReturnedRate, f.PastRate, latency(f.LatencyMedianMicroseconds),
			latency(f.LatencyP99Microseconds), cmp.Or(strings.Join(f.Contradictions, ", "), "none"))
	}
	head := "  REPLICA\tREADY\tSENT/S\tFULL/S\tFLOWS\n"
	for i := range functions {
		for _, r := range functions[i].Replicas {
			fmt.Fprintf(t, "%s  %s/%s\t%t\t%d\t%d\t%d\n", head, functions[i].Name, r.Name, r.Ready, r.SentRate, r.FullRate, r.Flows)
			head = ""
		}
	}
}

// used is the part of a function's capacity that is used, if that is known.
func used(f *Function) string {
	if f.UtilizationPercent == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", f.UtilizationPercent)
}

// unseen says that a status is not about the newest spec.
func unseen(generation, observed int64) string {
	return fmt.Sprintf("the operator has not looked at the newest spec yet (generation %d, seen %d)", generation, observed)
}

// ready says in a word whether an instance is, and if not why.
func ready(conditions []metav1.Condition) string {
	k := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case k == nil:
		return string(metav1.ConditionUnknown)
	case k.Status == metav1.ConditionTrue:
		return string(k.Status)
	}
	return fmt.Sprintf("%s (%s)", k.Status, k.Reason)
}

// load is that of the busiest core, and of each.
func load(n *Instance) string {
	var cores []string
	for _, k := range n.CoreLoads {
		cores = append(cores, fmt.Sprintf("cpu%d %d%%", k.LCore, k.LoadPercent))
	}
	text := fmt.Sprintf("%d%%", n.LoadPercent)
	if len(cores) > 0 {
		text += " (" + strings.Join(cores, ", ") + ")"
	}
	return text
}

// latency is a time in words; 0: none is known.
func latency(microseconds int64) string {
	if microseconds == 0 {
		return "-"
	}
	return (time.Duration(microseconds) * time.Microsecond).String()
}

func dispatch(n *Instance) string {
	var interfaces []string
	for _, d := range n.Dispatch {
		interfaces = append(interfaces, d.Interface+" "+d.Dispatcher)
	}
	return cmp.Or(strings.Join(interfaces, ", "), "-")
}

func (c *Cluster) age(t metav1.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.HumanDuration(c.Now().Sub(t.Time))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
