package chart

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/test/free"
	"github.com/sinter-nfv/sinter/test/hostile"
)

// Whoever may write chains in one namespace can neither kill the operator, which has the memory that the chart gives it or less, nor keep it from others.
func TestCostlyChainsOfOneNamespaceNeitherKillTheOperatorNorKeepItFromOthers(t *testing.T) {
	c := startCluster(t)
	c.helm("install", "sinter", chartDir, "--set", unanswered)
	const theirs = "hostile"
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: theirs}})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 4 {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(hostile.Costly(fmt.Sprint("costly", i), rng)), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace(theirs)
		c.create(o)
	}
	for i, test := range []struct {
		limit  int64
		reason string
	}{
		{get(c, "sinter-operator", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value(), v1alpha1.ReasonTooLarge},
		{384 << 20, v1alpha1.ReasonSynthesisFailed}, // which is less than such a chain takes
	} {
		t.Setenv("GOMEMLIMIT", strconv.FormatInt(test.limit, 10)) // as the deployment sets it
		held := hostile.NewMemory(t, test.limit)
		ours := sampleChain(t)
		ours.SetName(fmt.Sprint("ours", i))
		c.create(ours)
		began := time.Now()
		log := c.startOperator(free.Address(t))
		held.Hold(t, log.process.Pid)
		c.synthesized(log, namespace, 1+i, v1alpha1.ReasonCompiled)
		t.Logf("the chain of another namespace is compiled after %s", time.Since(began))
		c.synthesized(log, theirs, 4, test.reason)
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", log.process.Pid)); err != nil || !strings.Contains(string(status), "VmRSS") {
			t.Errorf("the operator has ended:\n%s", log)
		}
		t.Logf("the operator has used %d of %d MB", held.Used(t)>>20, test.limit>>20)
		log.stop()
	}
}

// synthesized waits until so many chains of a namespace have a reason of Synthesized.
func (c *cluster) synthesized(log *output, namespace string, chains int, reason string) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d chains of namespace %s that say %s", chains, namespace, reason), func(ctx context.Context) error {
		var list v1alpha1.ServiceChainList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		n, says := 0, []string(nil)
		for i := range list.Items {
			found := meta.FindStatusCondition(list.Items[i].Status.Conditions, v1alpha1.ConditionSynthesized)
			if found != nil {
				says = append(says, list.Items[i].Name+": "+found.Reason+": "+found.Message)
			}
			if found != nil && found.Reason == reason {
				n++
			}
		}
		if n != chains {
			return fmt.Errorf("there are %d; they say %q, and the operator said:\n%s", n, says, log)
		}
		return nil
	})
}
