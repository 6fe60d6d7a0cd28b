// What sets a VF's VLAN. Versions after v2.1.0 are not served by the Go proxy; this one imports itself by its old name.
module github.com/sinter-nfv/sinter/hack/sriov/sriov-cni

go 1.26.0

tool github.com/intel/sriov-cni/cmd/sriov

require (
	github.com/containernetworking/cni v0.6.0 // indirect
	github.com/containernetworking/plugins v0.7.5 // indirect
	github.com/coreos/go-iptables v0.8.0 // indirect
	github.com/intel/sriov-cni v2.1.0+incompatible // indirect
	github.com/onsi/ginkgo v1.16.5 // indirect
	github.com/onsi/gomega v1.44.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/intel/sriov-cni => github.com/k8snetworkplumbingwg/sriov-cni v2.1.0+incompatible
