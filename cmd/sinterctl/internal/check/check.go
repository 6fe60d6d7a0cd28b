// Package check tells whether Sinter works in a cluster, or would if it was installed: what is wrong, and what to do about it.
package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
)

// Result is how a check came out.
type Result string

// Results.
const (
	OK      Result = "ok"
	Warning Result = "warning" // Sinter works, but not as well as it could
	Error   Result = "error"   // a chain does not work, or would not
	Unknown Result = "unknown" // the cluster did not tell, most often for want of a right
)

// Line is what a check found. Scripts read it, so names stay.
type Line struct {
	Group   string `json:"group"`
	Check   string `json:"check"`
	Result  Result `json:"result"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Report is what all checks found.
type Report struct {
	// Installed is true if the API server serves one of Sinter's kinds, or an operator is there.
	Installed bool   `json:"installed"`
	Errors    int    `json:"errors"`
	Warnings  int    `json:"warnings"`
	Unknown   int    `json:"unknown"`
	Checks    []Line `json:"checks"`
}

// inspection is a report in the making.
type inspection struct {
	*cluster.Cluster
	Report
	group  string        // of the lines that come next
	ahead  time.Duration // of the API server's clock to that of this computer
	timed  bool          // false: the API server did not say its time
	nodes  []node        // that chains may run on
	chains []v1alpha1.ServiceChain
	scope  string // of the chains, in words
	err    error  // why the chains could not be read
}

// Run makes all checks. Each request is bounded by the client; what cannot be found out is Unknown.
func Run(ctx context.Context, c *cluster.Cluster) *Report {
	i := &inspection{Cluster: c}
	i.group = "Kubernetes"
	if !i.server(ctx) {
		return &i.Report
	}
	served, err := i.served()
	i.Installed = len(served) > 0
	switch {
	case err != nil:
		i.add(Error, "APIServer", fmt.Sprintf("the API server does not say what it serves: %v", err), "check the credentials of the kubeconfig: kubectl api-versions must list something")
		return &i.Report
	case i.Installed:
		i.readChains(ctx)
	default:
		i.rights(ctx)
	}
	i.group = "Nodes"
	i.checkNodes(ctx)
	i.group = "Networks"
	i.checkNetworks(ctx)
	i.group = "Installation"
	i.checkInstallation(ctx, served)
	if i.Installed {
		i.group = "Chains"
		i.checkChains()
	}
	return &i.Report
}

func (i *inspection) add(result Result, check, message, remedy string) {
	i.Checks = append(i.Checks, Line{Group: i.group, Check: check, Result: result, Message: strings.Join(strings.Fields(message), " "), Remedy: remedy})
	switch result {
	case Error:
		i.Errors++
	case Warning:
		i.Warnings++
	case Unknown:
		i.Unknown++
	case OK:
	}
}

func (i *inspection) ok(check, format string, args ...any) {
	i.add(OK, check, fmt.Sprintf(format, args...), "")
}

// unknown says that something could not be read.
func (i *inspection) unknown(check, doing string, err error) {
	if lacksRight(err) {
		i.add(Unknown, check, "needs the right to "+doing, "ask an administrator of the cluster for it, or to run this command")
		return
	}
	i.add(Unknown, check, fmt.Sprintf("%s: %v", doing, err), "run it again; if the API server answers slowly, with --request-timeout 1m")
}

// lacksRight tells RBAC's refusal from that of an admission webhook, which has the same code.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}

// hasKind tells whether the API server serves a kind, in one of the versions if some are given. Everyone who is known to it may ask that.
func (i *inspection) hasKind(kind schema.GroupKind, versions ...string) (bool, error) {
	_, err := i.Client.RESTMapper().RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// most is how many things a message names.
const most = 10

// names are the first of some things, and how many there are besides.
func names(list []string) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
