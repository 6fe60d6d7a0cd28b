package desired

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// InstanceName names the instance with an index, counted from 0.
func InstanceName(chain string, i int) string { return fmt.Sprintf("%s-%d", chain, i) }

// Index is the index of an instance's name; one that is not ours comes last.
func Index(chain, instance string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(instance, chain+"-"))
	if err != nil {
		return 1 << 30
	}
	return n
}

// Owner makes the chain the owner of an object.
func Owner(chain *v1alpha1.ServiceChain) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(chain, v1alpha1.GroupVersion.WithKind(v1alpha1.KindServiceChain))}
}

// Owns is Owner for objects that are applied.
func Owns(chain *v1alpha1.ServiceChain) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.KindServiceChain).
		WithName(chain.Name).WithUID(chain.UID).WithController(true).WithBlockOwnerDeletion(true)
}

// Labels of all that a chain has.
func Labels(chain *v1alpha1.ServiceChain) map[string]string {
	return map[string]string{
		v1alpha1.LabelChain:            chain.Name,
		v1alpha1.LabelComponent:        v1alpha1.ComponentDataPlane,
		"app.kubernetes.io/managed-by": "sinter-operator",
	}
}
