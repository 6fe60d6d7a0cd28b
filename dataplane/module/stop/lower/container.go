package lower

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/graph/lower"
)

// longestDevice is how many characters the name of a Linux network device has at most.
const longestDevice = 15

// taken are names of devices that a pod has for other ends.
var taken = regexp.MustCompile(`^(lo|(eth|net|wire)[0-9]+)$`)

// checkContainer refuses what a function that Sinter runs cannot be. Its devices have the names of its wires, and its container has its own. A wire that is
// nil was not found, or is none.
func checkContainer(b *lower.Builder, f *lower.Function, spec *v1alpha1.Blackbox, wires ...*lower.Wire) {
	if spec.Image == "" {
		return
	}
	others := []string{v1alpha1.ContainerEngine, v1alpha1.ContainerAgent, v1alpha1.ContainerWires}
	if slices.Contains(others, f.Name) {
		b.Fail(b.Object, f.Declared+".name", f.Name, "the pod has another container of this name; give a function with an image another one")
	}
	for i, r := range spec.Replicas { // whose containers have the names of their wires
		if slices.Contains(others, string(r.Inside)) {
			b.Fail(f.Object, fmt.Sprintf("%s.replicas[%d].inside", f.Path, i), string(r.Inside), "the pod has another container of this name; give the wire another one")
		}
	}
	checkResources(b, f, &spec.Resources)
	checkCapacity(b, f, spec.Scaling)
	for _, w := range wires {
		if w == nil {
			continue
		}
		checkWithin(b, w)
		if spec.Transport != v1alpha1.BlackboxMemif {
			checkDevice(b, w)
		}
	}
	if spec.Transport == v1alpha1.BlackboxMemif {
		checkMemory(b, f, wires)
	}
}

// checkCapacity refuses what is no rate of packets.
func checkCapacity(b *lower.Builder, f *lower.Function, s *v1alpha1.BlackboxScaling) {
	if s == nil {
		return
	}
	if _, refused := rules.ParseRate(string(s.Capacity)); refused != "" {
		b.Fail(f.Object, f.Path+".scaling.capacity", string(s.Capacity), "%s", refused)
	}
}

// mostOfMemif is the largest IP packet that DPDK's memif driver carries, in bytes.
const mostOfMemif = 1500

// checkMemory refuses what cannot be shared memory: the container may open one queue where the engine has one for each core; and the engine gives all
// its devices the largest MTU.
func checkMemory(b *lower.Builder, f *lower.Function, wires []*lower.Wire) {
	refuse := func(format string, args ...any) {
		b.Fail(f.Object, f.Path+".transport", string(v1alpha1.BlackboxMemif), format, args...)
	}
	if b.Cores > 1 {
		refuse("is for instances with one core, and those of the chain own %d; set scaling.minCores and maxCores to 1, or transport to %s", b.Cores, v1alpha1.BlackboxVeth)
	}
	mtus := map[string]int32{}
	for _, w := range wires {
		if w != nil {
			mtus[w.Name] = w.Spec.MTU
		}
	}
	for _, i := range b.Interfaces {
		mtus[i.Name] = i.Spec.MTU
	}
	for _, name := range slices.Sorted(maps.Keys(mtus)) {
		if mtus[name] > mostOfMemif {
			refuse("carries packets of up to %d bytes, and interface %q has mtu %d; leave its mtu out, or set transport to %s", mostOfMemif, name, mtus[name], v1alpha1.BlackboxVeth)
			return
		}
	}
}

// checkResources bounds what the container gets. The API server has no budget to do so for each function of a chain.
func checkResources(b *lower.Builder, f *lower.Function, resources *v1alpha1.BlackboxResources) {
	for _, r := range []struct {
		field       string
		value       *resource.Quantity
		least, most string
		like        string
	}{
		{"cpu", &resources.CPU, "10m", "64", "500m or 2"},
		{"memory", &resources.Memory, "1Mi", "10Ti", "512Mi or 2Gi"},
	} {
		if !r.value.IsZero() && (r.value.Cmp(resource.MustParse(r.least)) < 0 || r.value.Cmp(resource.MustParse(r.most)) > 0) {
			b.Fail(f.Object, f.Path+".resources."+r.field, r.value.String(), "must be from %s to %s, like %s", r.least, r.most, r.like)
		}
	}
}

// checkDevice refuses a wire that cannot be a device of the container's.
func checkDevice(b *lower.Builder, w *lower.Wire) {
	switch {
	case len(w.Name) > longestDevice:
		b.Fail(b.Object, w.Field+".name", w.Name, "the network device of the container has this name, and may have up to %d characters; give the wire a shorter one", longestDevice)
	case taken.MatchString(w.Name):
		b.Fail(b.Object, w.Field+".name", w.Name, "the network device of the container has this name, which another device of the pod may have; give the wire another one, such as ips-inside")
	}
}

// checkWithin refuses a wire that leads out of the pod.
func checkWithin(b *lower.Builder, w *lower.Wire) {
	network := ""
	if w.Spec.NetworkRef != nil {
		network = w.Spec.NetworkRef.Name
	}
	for _, has := range []struct{ field, value string }{
		{"networkRef", network}, {"resourceName", w.Spec.ResourceName}, {"resourceClaimTemplateName", w.Spec.ResourceClaimTemplateName},
	} {
		if has.value != "" {
			b.Fail(b.Object, w.Field+"."+has.field, has.value, "the blackbox has an image, so the wire is within the pod; leave it out, or run the function yourself and leave image out")
		}
	}
}
