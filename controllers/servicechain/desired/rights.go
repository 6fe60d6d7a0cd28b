package desired

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sinter-nfv/sinter/api/rights"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// AgentRules are the rights of a chain's agents, for the instances that the chain has or may get next.
func AgentRules(chain *v1alpha1.ServiceChain, has []v1alpha1.ChainInstance, programs []v1alpha1.ChainProgram) []rbacv1.PolicyRule {
	var instances, texts []string
	for i := range has {
		instances = append(instances, has[i].Name)
	}
	most := max(chain.Spec.Scaling.Instances, chain.Spec.Scaling.MaxInstances)
	for k := range len(has) + int(most) { // the lowest names that are free are given next
		instances = append(instances, InstanceName(chain.Name, k))
	}
	for i := range programs {
		texts = append(texts, programs[i].Name)
	}
	return rights.Agent(instances, texts)
}
