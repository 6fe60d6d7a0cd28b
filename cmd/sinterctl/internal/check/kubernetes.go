package check

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sinter-nfv/sinter/api/clocks"
)

// oldest is the first release of Kubernetes that the chart installs on.
const oldest = "1.31.0"

// server asks for the API server's version and time; false: it does not answer.
func (i *inspection) server(ctx context.Context) bool {
	asked := i.Now()
	s, err := i.Pods.Server(ctx)
	if err != nil {
		i.add(Error, "APIServer", fmt.Sprintf("the API server does not answer: %v", err), "check --kubeconfig, --context and --server, and that the API server runs: kubectl cluster-info")
		return false
	}
	answered := i.Now()
	v, err := version.ParseGeneric(s.Version)
	switch {
	case err != nil:
		i.add(Unknown, "APIServer", fmt.Sprintf("the API server answers, with a version that cannot be read: %v", err), "Sinter needs Kubernetes "+oldest+" or later")
	case !v.AtLeast(version.MustParseGeneric(oldest)):
		i.add(Error, "APIServer", fmt.Sprintf("the API server has Kubernetes %s", s.Version), "upgrade the cluster: Sinter needs Kubernetes "+oldest+" or later")
	default:
		i.ok("APIServer", "the API server answers, with Kubernetes %s", s.Version)
	}
	if i.timed = !s.Time.IsZero(); i.timed {
		i.ahead = s.Time.Sub(answered)
		i.computer(s.Time, asked, answered)
	}
	return true
}

// computer compares this computer's clock with the API server's, which told whole seconds between two times of here.
func (i *inspection) computer(at, asked, answered time.Time) {
	behind, ahead := at.Sub(answered), asked.Sub(at.Add(time.Second))
	const remedy = "set this computer's clock (timedatectl set-ntp true): ages are shown by it, and certificates checked"
	switch {
	case behind > clocks.Skew:
		i.add(Warning, "LocalClock", fmt.Sprintf("the clock of this computer is %s behind the API server's", behind.Round(time.Second)), remedy)
	case ahead > clocks.Skew:
		i.add(Warning, "LocalClock", fmt.Sprintf("the clock of this computer is %s ahead of the API server's", ahead.Round(time.Second)), remedy)
	default:
		i.ok("LocalClock", "this computer and the API server have the same time")
	}
}

// installed are the kinds of the cluster's objects that the chart creates.
var installed = []struct{ group, resource string }{
	{"", "namespaces"},
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"rbac.authorization.k8s.io", "clusterroles"},
	{"rbac.authorization.k8s.io", "clusterrolebindings"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
	{"scheduling.k8s.io", "priorityclasses"},
}

// rights asks whether this user may install Sinter.
func (i *inspection) rights(ctx context.Context) {
	var denied []string
	for _, o := range installed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: o.group, Resource: o.resource, Verb: "create"},
		}}
		if err := i.Client.Create(ctx, review); err != nil {
			i.unknown("InstallRights", "create selfsubjectaccessreviews", err)
			return
		}
		if !review.Status.Allowed {
			denied = append(denied, o.resource)
		}
	}
	if len(denied) > 0 {
		i.add(Warning, "InstallRights", "you may not create "+names(denied), "have an administrator of the cluster install Sinter (role cluster-admin)")
		return
	}
	i.ok("InstallRights", "you may install Sinter")
}
