package binding

import (
	"encoding/json"
	"fmt"
	"strings"
)

// NetworkStatus is an entry of Multus' network-status annotation, as far as it matters here.
type NetworkStatus struct {
	Name       string      `json:"name"`      // "namespace/name" of the NetworkAttachmentDefinition
	Interface  string      `json:"interface"` // in the pod; none for a VF that DPDK drives
	MAC        string      `json:"mac"`
	Default    bool        `json:"default"` // the pod's own network
	DeviceInfo *DeviceInfo `json:"device-info"`
}

// DeviceInfo says what device is behind a network (device-info-spec).
type DeviceInfo struct {
	Type string `json:"type"`
	PCI  struct {
		Address string `json:"pci-address"`
	} `json:"pci"`
}

// ParseNetworkStatus reads the annotation k8s.v1.cni.cncf.io/network-status; it is empty where there is no Multus.
func ParseNetworkStatus(text []byte) ([]NetworkStatus, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil, nil
	}
	var list []NetworkStatus
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("network-status: want Multus' JSON list of networks: %w", err)
	}
	return list, nil
}

func (n *NetworkStatus) pciAddress() string {
	if n.DeviceInfo == nil {
		return ""
	}
	return n.DeviceInfo.PCI.Address
}

// networks hands out entries of network-status, each once.
type networks struct{ left []*NetworkStatus }

func newNetworks(list []NetworkStatus) *networks {
	n := &networks{}
	for i := range list {
		if !list[i].Default {
			n.left = append(n.left, &list[i])
		}
	}
	return n
}

// take finds an interface's entry: by the name in the pod, which is unique there, or by its network, whose
// entries are in the order in which the pod asked for them.
func (n *networks) take(i Interface) *NetworkStatus {
	for k, s := range n.left {
		if i.Device != "" && s.Interface == i.Device || i.Device == "" && i.Network != "" && sameNetwork(s.Name, i.Network) {
			n.left = append(n.left[:k:k], n.left[k+1:]...)
			return s
		}
	}
	return nil
}

// sameNetwork compares two names of which one may lack the namespace.
func sameNetwork(a, b string) bool {
	if strings.Contains(a, "/") != strings.Contains(b, "/") {
		a, b = a[strings.LastIndexByte(a, '/')+1:], b[strings.LastIndexByte(b, '/')+1:]
	}
	return a == b
}

// names are the networks that no interface has taken.
func (n *networks) names() string {
	if len(n.left) == 0 {
		return "no other"
	}
	names := make([]string, len(n.left))
	for i, s := range n.left {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}
