package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinter-smoke/chains"
)

// webhook tells whether the API server reaches the webhook that judges chains.
func (i *inspection) webhook(ctx context.Context) {
	const check = "Webhook"
	var list admissionv1.ValidatingWebhookConfigurationList
	if err := i.Client.List(ctx, &list); err != nil {
		i.unknown(check, "list validatingwebhookconfigurations", err)
		return
	}
	var hooks []admissionv1.ValidatingWebhook
	for k := range list.Items {
		for _, h := range list.Items[k].Webhooks {
			if slices.ContainsFunc(h.Rules, judgesOurs) {
				hooks = append(hooks, h)
			}
		}
	}
	if len(hooks) == 0 {
		i.ok(check, "no webhook is installed: mistakes in chains show in their condition Synthesized")
		return
	}
	for k := range hooks {
		if hooks[k].ClientConfig.Service != nil && !i.reachable(ctx, &hooks[k]) {
			return
		}
	}
	i.try(ctx, hooks)
}

func judgesOurs(r admissionv1.RuleWithOperations) bool {
	return slices.Contains(r.APIGroups, v1alpha1.GroupVersion.Group)
}

// reachable tells whether somebody stands behind a webhook's service, whom the API server can trust; if not, it says so.
func (i *inspection) reachable(ctx context.Context, h *admissionv1.ValidatingWebhook) bool {
	const check = "Webhook"
	s := h.ClientConfig.Service
	if len(h.ClientConfig.CABundle) == 0 {
		i.add(Error, check, fmt.Sprintf("webhook %s has no caBundle: the API server refuses its certificate, and with it all changes of chains", h.Name),
			fmt.Sprintf("if cert-manager issues the certificate, see what it says: kubectl --namespace %s describe certificates; else %s", s.Namespace, toUpgrade))
		return false
	}
	var ends discoveryv1.EndpointSliceList
	if err := i.Client.List(ctx, &ends, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name}); err != nil {
		return true // whether it is reached is tried
	}
	for k := range ends.Items {
		for _, e := range ends.Items[k].Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return true
			}
		}
	}
	i.add(Error, check, fmt.Sprintf("webhook %s cannot be reached: service %s/%s has no ready endpoint", h.Name, s.Namespace, s.Name),
		fmt.Sprintf("get the operator to run: kubectl --namespace %s get pods; until then webhook.failurePolicy=Ignore of the chart lets chains pass", s.Namespace))
	return false
}

// try has the API server ask the webhook, by a dry run with a chain whose fault only the webhook sees. So an answer is told from a webhook that was not
// asked, as failurePolicy Ignore allows.
func (i *inspection) try(ctx context.Context, hooks []admissionv1.ValidatingWebhook) {
	const check = "Webhook"
	var chain v1alpha1.ServiceChain
	if err := yaml.Unmarshal(chains.Bad, &chain); err != nil {
		panic(err) // it is part of this program
	}
	chain.Namespace = i.Namespace
	err := i.Client.Create(ctx, &chain, client.DryRunAll)
	switch {
	case err == nil:
		i.add(Warning, check, fmt.Sprintf("the API server took a chain with a fault in namespace %s: it did not ask webhook %s, or the webhook did not answer", i.Namespace, hooks[0].Name),
			"if webhook.failurePolicy is Ignore, see that the operator runs and that the API server reaches its pods; if webhook.namespaceSelector leaves the namespace out, choose another one by -n")
	case strings.Contains(err.Error(), chains.Fault):
		i.ok(check, "the webhook answers: a chain with a fault is refused (dry run in namespace %s)", i.Namespace)
	case strings.Contains(err.Error(), "failed calling webhook"):
		i.add(Error, check, fmt.Sprintf("a webhook cannot be reached, so that changes of chains are refused: %v", err), unreachable(hooks, err))
	case lacksRight(err):
		i.unknown(check, "create servicechains in namespace "+i.Namespace+" (a dry run)", err)
	default:
		i.add(Unknown, check, fmt.Sprintf("a dry run did not come to the webhook: %v", err), "choose another namespace by -n")
	}
}

// unreachable is what to do about a webhook that the API server does not reach.
func unreachable(hooks []admissionv1.ValidatingWebhook, err error) string {
	for k := range hooks {
		if !strings.Contains(err.Error(), `"`+hooks[k].Name+`"`) {
			continue
		}
		if strings.Contains(err.Error(), "x509") {
			return "its certificate is not the one of caBundle, or has run out: " + toUpgrade
		}
		return "see that the operator runs, and that firewalls and network policies let the API server reach port 9443 of its pods; until then webhook.failurePolicy=Ignore of the chart lets chains pass"
	}
	return "it is not Sinter's: see who installed it (kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations)"
}
