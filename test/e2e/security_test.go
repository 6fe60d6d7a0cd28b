package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestEveryAccountMayDoItsWorkAndNoMore(t *testing.T) {
	w := begin(t)
	w.edge()
	operator := "system:serviceaccount:" + system + ":sinter"
	// The objects of an agent's chain; without a name, a question is about all objects of the namespace.
	instance, program := "chaininstances.nfv.sinter.dev/"+podName, "chainprograms.nfv.sinter.dev/"+w.chain().Status.Program
	agent := "system:serviceaccount:" + space + ":" + chainName + "-dataplane"
	for who, cases := range map[string]map[string]bool{
		operator: {
			"create pods -n " + space: true, "list nodes": true, "watch servicechains.nfv.sinter.dev -A": true,
			"patch chaininstances.nfv.sinter.dev -n " + space: true,
			"get secrets -n " + system:                        false, "get secrets -n " + space: false, "list secrets -A": false,
			"create clusterroles": false, "create clusterrolebindings": false, "bind clusterroles/cluster-admin": false,
			"delete servicechains.nfv.sinter.dev -A": false, "create pods --subresource=exec -n " + space: false,
			"update nodes": false, "impersonate users": false, "create serviceaccounts --subresource=token -A": false,
		},
		agent: {
			"get " + instance + " -n " + space: true, "list " + instance + " -n " + space: true, "watch " + instance + " -n " + space: true,
			"patch " + instance + " --subresource=status -n " + space: true, "get " + program + " -n " + space: true,
			"patch " + instance + " -n " + space: false, "delete " + instance + " -n " + space: false, "patch " + program + " -n " + space: false,
			"watch " + instance + " -n " + system:                     false,
			"watch chaininstances.nfv.sinter.dev/other-0 -n " + space: false, "get chainprograms.nfv.sinter.dev/other-0123456789 -n " + space: false,
			"watch chaininstances.nfv.sinter.dev -n " + space: false, "patch chaininstances.nfv.sinter.dev --subresource=status -n " + space: false,
			"get chainprograms.nfv.sinter.dev -n " + space: false, "list chainprograms.nfv.sinter.dev -n " + space: false,
			"get servicechains.nfv.sinter.dev -n " + space: false,
			"get secrets -n " + space:                      false, "get configmaps -n " + space: false, "list pods -n " + space: false, "get nodes": false,
		},
		"e2e-nobody --as-group system:authenticated": {
			"get servicechains.nfv.sinter.dev -n " + space: false, "get /metrics": false,
		},
	} {
		for what, may := range cases {
			t.Run(fmt.Sprintf("%s: %s", who, what), func(t *testing.T) {
				// The answer "no" is an exit code, too.
				out, err := run(t.Context(), "", "kubectl", append([]string{"auth", "can-i", "--as"}, strings.Fields(who+" "+what)...)...)
				if got := strings.TrimSpace(out); got != "yes" && got != "no" {
					t.Fatalf("%q, %v", out, err)
				} else if (got == "yes") != may {
					t.Errorf("%s, wanted %t", got, may)
				}
			})
		}
	}
}

// Whoever may edit workloads of a namespace may edit chains there, and viewers may view.
func TestTheClustersOwnRolesIncludeChains(t *testing.T) {
	w := begin(t)
	for role, may := range map[string]map[string]bool{
		"edit": {"create servicechains.nfv.sinter.dev": true, "create chainprograms.nfv.sinter.dev": false, "get chaininstances.nfv.sinter.dev": true},
		"view": {"list servicechains.nfv.sinter.dev": true, "create servicechains.nfv.sinter.dev": false},
	} {
		user := "e2e-" + role
		w.kubectl("create", "rolebinding", user, "--clusterrole="+role, "--user="+user)
		defer w.kubectl("delete", "rolebinding", user)
		for what, want := range may {
			w.eventually(user+": "+what, 10*time.Second, func() error {
				out, _ := w.try(append([]string{"auth", "can-i", "--as", user}, strings.Fields(what)...)...)
				if got := strings.TrimSpace(out); (got == "yes") != want {
					return fmt.Errorf("%q, wanted %t", got, want)
				}
				return nil
			})
		}
	}
}

func TestMetricsRefuseThoseWithoutARight(t *testing.T) {
	w := begin(t)
	w.edge()
	w.apply(`apiVersion: v1
kind: ServiceAccount
metadata: {name: e2e-reader}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: e2e-stranger}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: e2e-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sinter-metrics-reader}
subjects: [{kind: ServiceAccount, name: e2e-reader, namespace: default}]
`)
	defer w.kubectl("delete", "clusterrolebinding/e2e-reader", "serviceaccount/e2e-reader", "serviceaccount/e2e-stranger")
	token := func(account string) string { return strings.TrimSpace(w.kubectl("create", "token", account)) }
	reader, stranger := token("e2e-reader"), token("e2e-stranger")
	for name, url := range map[string]string{"operator": w.metrics(system, "app.kubernetes.io/component=operator", 8443), "agent": w.metrics(space, "nfv.sinter.dev/chain="+chainName, 9090)} {
		for who, c := range map[string]struct {
			token string
			want  string
		}{
			"nobody": {"", "401 403"},
			// controller-runtime takes a token that is none for a failure to review it.
			"a liar":     {"Bearer wrong", "401 403 500"},
			"a stranger": {"Bearer " + stranger, "403"},
			"a reader":   {"Bearer " + reader, "200"},
		} {
			t.Run(who+" asks the "+name, func(t *testing.T) {
				got, err := get(t.Context(), url, c.token)
				for ; got == "429" && err == nil; got, err = get(t.Context(), url, c.token) {
					time.Sleep(time.Second) // an agent asks the API server about few readers per second
				}
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(c.want, got) {
					t.Errorf("status %s, wanted one of %s", got, c.want)
				}
			})
		}
	}
}

// metrics is where a pod serves them.
func (w *world) metrics(namespace, selector string, port int) string {
	w.Helper()
	address := w.kubectl("get", "pods", "--namespace", namespace, "-l", selector, "--field-selector=status.phase=Running", "-o", "jsonpath={.items[0].status.podIP}")
	return fmt.Sprintf("https://%s:%d/metrics", address, port)
}

// get asks from within the cluster's network, and returns the status. The certificates are of the pods' own.
func get(ctx context.Context, url, token string) (string, error) {
	return run(ctx, "", "hack/cluster/cluster.sh", "in", "curl", "--silent", "--insecure", "--max-time", "10",
		"--output", "/dev/null", "--write-out", "%{http_code}", "--header", "Authorization: "+token, url)
}

func TestNoContainerWritesToItsRoot(t *testing.T) {
	w := begin(t)
	w.edge()
	for _, container := range []string{"engine", "agent"} {
		if out, err := w.try("exec", podName, "-c", container, "--", "sh", "-c", "echo x >/usr/x"); err == nil || !strings.Contains(err.Error(), "Read-only file system") {
			t.Errorf("container %s: %v %s: wanted a read-only root", container, err, out)
		}
	}
	var pods corev1.PodList
	if err := w.api.List(t.Context(), &pods, client.InNamespace(system)); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		for _, c := range p.Spec.Containers {
			if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("pod %s, container %s: the root is not read-only", p.Name, c.Name)
			}
		}
	}
}

// The reasons for what the pods may do are in docs/operator.md; nothing else is asked for.
func TestTheOperatorsNamespaceMayEnforceTheRestrictedStandard(t *testing.T) {
	w := begin(t)
	if _, err := w.try("label", "namespace", system, "pod-security.kubernetes.io/enforce=restricted", "--dry-run=server", "--warnings-as-errors"); err != nil {
		t.Errorf("its pods violate the standard: %v", err)
	}
	w.kubectl("label", "namespace", system, "pod-security.kubernetes.io/enforce=restricted", "--overwrite")
	defer w.kubectl("label", "namespace", system, "pod-security.kubernetes.io/enforce-")
	w.kubectl("rollout", "restart", "--namespace", system, "deployment/sinter-operator")
	w.kubectl("rollout", "status", "--namespace", system, "deployment/sinter-operator", "--timeout=90s")
}
