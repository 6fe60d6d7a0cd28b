package check

import (
	"context"
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

const (
	static = "static"
	// kubeletsAsked and kubeletsTime bound how many kubelets are asked, and for how long in all: the label tells of the others.
	kubeletsAsked = 10
	kubeletsTime  = 10 * time.Second
)

// cpuManager tells whether engines get CPUs of their own. The kubelet knows it, and tells those who may ask. The operator knows no more than the
// node's label: it leaves out a node that has another policy there.
func (i *inspection) cpuManager(ctx context.Context) {
	said := i.kubelets(ctx)
	var wrong, mislabelled, untold []string
	good := 0
	for _, n := range i.nodes {
		policy, label := said[n.Name], n.Labels[v1alpha1.LabelCPUManager]
		switch {
		case policy == "" && label == "":
			untold = append(untold, n.Name)
		case policy != "" && policy != static, policy == "" && label != static:
			if policy == "" {
				policy = label
			}
			wrong = append(wrong, fmt.Sprintf("%s (%s)", n.Name, policy))
		case label != "" && label != static:
			mislabelled = append(mislabelled, fmt.Sprintf("%s (%s)", n.Name, label))
		default:
			good++
		}
	}
	const check = "CPUManager"
	if len(wrong) > 0 {
		result := Error
		if good+len(untold) > 0 {
			result = Warning
		}
		i.add(result, check, fmt.Sprintf("the kubelet's CPU manager is not static on %d of %s: %s", len(wrong), count(len(i.nodes), "node"), names(wrong)),
			"set cpuManagerPolicy: static and reservedSystemCPUs in the kubelet's configuration, drain the node, delete /var/lib/kubelet/cpu_manager_state, restart the kubelet, and label the node: "+labelling)
	}
	if len(mislabelled) > 0 {
		i.add(Warning, check, fmt.Sprintf("the CPU manager is static, but the label %s says otherwise, so that no chain runs there: %s", v1alpha1.LabelCPUManager, names(mislabelled)), labelling+" --overwrite")
	}
	if len(untold) > 0 {
		i.add(Warning, check, fmt.Sprintf("the kubelet's CPU manager is not known to be static on %d of %s: %s", len(untold), count(len(i.nodes), "node"), names(untold)),
			"look at cpuManagerPolicy in the kubelet's configuration, and label the node if it is static: "+labelling)
	}
	if good == len(i.nodes) {
		i.ok(check, "the kubelet's CPU manager is static on %s", count(good, "node"))
	}
}

const labelling = "kubectl label node <node> " + v1alpha1.LabelCPUManager + "=" + static

// kubelets are the policies of nodes by the word of their kubelets. Those that do not answer are left out.
func (i *inspection) kubelets(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, kubeletsTime)
	defer cancel()
	said := map[string]string{}
	for _, n := range i.nodes[:min(len(i.nodes), kubeletsAsked)] {
		policy, err := i.Pods.CPUManagerPolicy(ctx, n.Name)
		if lacksRight(err) {
			break
		}
		if err == nil {
			said[n.Name] = policy
		}
	}
	return said
}
