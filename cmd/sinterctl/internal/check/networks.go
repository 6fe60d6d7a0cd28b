package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// attachment is the kind of Multus' networks.
var attachment = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

// annotationResource of a network names the resource of the device that it hands on.
const annotationResource = "k8s.v1.cni.cncf.io/resourceName"

// wanted has, for each thing that chains name, a chain that names it.
type wanted map[string]string

func (w wanted) add(thing, chain string) {
	if _, ok := w[thing]; !ok {
		w[thing] = chain
	}
}

// checkNetworks tells whether there is what chains are attached by.
func (i *inspection) checkNetworks(ctx context.Context) {
	networks, resources := i.named()
	has, err := i.hasKind(attachment.GroupKind(), attachment.Version)
	switch {
	case err != nil:
		i.unknown("Multus", "ask which kinds there are", err)
	case !has && len(i.chains) > 0 && len(networks) == 0:
		i.ok("Multus", "Multus is not installed, and no chain needs it")
	case !has:
		i.add(Error, "Multus", "Multus is not installed: the API server does not know "+attachment.Kind,
			"install Multus: https://github.com/k8snetworkplumbingwg/multus-cni")
	default:
		i.ok("Multus", "the API server knows %s", attachment.Kind)
		i.attachments(ctx, networks, resources)
	}
	i.devices(resources)
}

// named are the networks and the resources that chains name.
func (i *inspection) named() (networks, resources wanted) {
	networks, resources = wanted{}, wanted{}
	for k := range i.chains {
		c := &i.chains[k]
		for j := range c.Spec.Interfaces {
			n := &c.Spec.Interfaces[j]
			if r := n.NetworkRef; r != nil {
				networks.add(cmp.Or(r.Namespace, c.Namespace)+"/"+r.Name, c.Namespace+"/"+c.Name)
			}
			if n.ResourceName != "" {
				resources.add(n.ResourceName, "chain "+c.Namespace+"/"+c.Name)
			}
		}
	}
	return networks, resources
}

// attachments looks for the networks that chains name, and adds the resources that networks name. Before there are chains, it is those of all networks.
func (i *inspection) attachments(ctx context.Context, networks, resources wanted) {
	list := unstructured.UnstructuredList{}
	list.SetGroupVersionKind(attachment.GroupVersion().WithKind(attachment.Kind + "List"))
	const check = "Networks"
	if err := i.Client.List(ctx, &list); err != nil {
		i.unknown(check, "list network-attachment-definitions in all namespaces", err)
		return
	}
	there := map[string]bool{}
	for k := range list.Items {
		o := &list.Items[k]
		name := o.GetNamespace() + "/" + o.GetName()
		there[name] = true
		_, used := networks[name]
		if r := o.GetAnnotations()[annotationResource]; r != "" && (used || len(i.chains) == 0) {
			resources.add(r, "network "+name)
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		if !there[name] {
			missing = append(missing, fmt.Sprintf("%s (of chain %s)", name, networks[name]))
		}
	}
	switch {
	case len(missing) > 0:
		i.add(Error, check, fmt.Sprintf("%s that chains name does not exist: %s", count(len(missing), attachment.Kind), names(missing)),
			"create it, as config/samples/networks does, or correct networkRef of the chain: kubectl get network-attachment-definitions -A")
	case len(networks) > 0:
		i.ok(check, "%s that chains name, all there", count(len(networks), attachment.Kind))
	case i.err != nil:
		i.ok(check, "%s; which ones chains name is not known", count(len(list.Items), attachment.Kind))
	default:
		i.ok(check, "%s; no chain names one", count(len(list.Items), attachment.Kind))
	}
}

// devices tells whether nodes have the devices that chains and networks name.
func (i *inspection) devices(resources wanted) {
	if len(resources) == 0 || len(i.nodes) == 0 {
		return // nothing is asked for, or it was said that there is no node
	}
	var missing, has []string
	for _, r := range slices.Sorted(maps.Keys(resources)) {
		devices, on := int64(0), 0
		for _, n := range i.nodes {
			if q := n.Status.Allocatable[corev1.ResourceName(r)]; !q.IsZero() {
				devices, on = devices+q.Value(), on+1
			}
		}
		if devices == 0 {
			missing = append(missing, fmt.Sprintf("%s (of %s)", r, resources[r]))
		} else {
			has = append(has, fmt.Sprintf("%s: %d on %s", r, devices, count(on, "node")))
		}
	}
	if len(missing) > 0 {
		i.add(Error, "Devices", "no node offers a virtual function of "+names(missing),
			"create virtual functions on a node (echo 8 > /sys/class/net/<device>/device/sriov_numvfs), bind them to vfio-pci, and have the SR-IOV device plugin offer them under that name: docs/sriov.md")
		return
	}
	i.ok("Devices", "%s", names(has))
}
