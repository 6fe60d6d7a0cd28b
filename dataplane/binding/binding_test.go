package binding

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// twoNodes is a machine with CPUs 0-3 on NUMA node 0 and 4-7 on node 1, and VFs on both.
var twoNodes = fstest.MapFS{
	"devices/system/node/node0/cpulist":      {Data: []byte("0-3\n")},
	"devices/system/node/node1/cpulist":      {Data: []byte("4-7\n")},
	"bus/pci/devices/0000:03:00.1/numa_node": {Data: []byte("0\n")},
	"bus/pci/devices/0000:03:00.1/driver":    {Data: []byte("../../../bus/pci/drivers/vfio-pci"), Mode: fs.ModeSymlink},
	"bus/pci/devices/0000:83:00.1/numa_node": {Data: []byte("1\n")},
	"bus/pci/devices/0000:83:00.1/driver":    {Data: []byte("../../../bus/pci/drivers/vfio-pci"), Mode: fs.ModeSymlink},
	"bus/pci/devices/0000:83:00.2/numa_node": {Data: []byte("1\n")},
	"bus/pci/devices/0000:83:00.2/driver":    {Data: []byte("../../../bus/pci/drivers/iavf"), Mode: fs.ModeSymlink},
	"bus/pci/devices/0000:83:00.3/numa_node": {Data: []byte("-1\n")},
	"class/net/net1/device/numa_node":        {Data: []byte("1\n")},
}

// status is Multus' annotation for two networks, the second a VF.
const status = `[
  {"name": "cbr0", "interface": "eth0", "default": true},
  {"name": "default/lan", "interface": "net1", "mac": "02:00:00:00:00:01"},
  {"name": "default/wan", "device-info": {"type": "pci", "pci": {"pci-address": "0000:83:00.1"}}}
]`

// shared is what is said of CPUs that the kubelet gave to the engine and to others.
func shared(cpus string, workers int) string {
	return fmt.Sprintf("other pods may run on the CPUs of the engine, which were not given to it alone (%s for %d); set the kubelet's cpuManagerPolicy to static", cpus, workers)
}

func TestEveryInterfaceGetsItsDeviceAndEveryWorkerItsCPU(t *testing.T) {
	for name, c := range bindings {
		t.Run(name, func(t *testing.T) {
			var interfaces []Interface
			for _, text := range c.interfaces {
				i, err := ParseInterface(text)
				if err != nil {
					t.Fatal(err)
				}
				if i.String() != text {
					t.Errorf("interface %q is written back as %q", text, i)
				}
				interfaces = append(interfaces, i)
			}
			networks, err := ParseNetworkStatus([]byte(c.status))
			if err != nil {
				t.Fatal(err)
			}
			cpus, err := ParseCPUs(c.cpus)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := Make(interfaces, c.workers, Grant{CPUs: cpus, Env: c.env, Networks: networks, Sys: twoNodes})
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Fatalf("error:\n got %v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(plan.Args(), " "); got != c.args {
				t.Errorf("engine's flags:\n got %s\nwant %s", got, c.args)
			}
			if !slices.Equal(c.notes, plan.Notes) {
				t.Errorf("notes:\n got %q\nwant %q", plan.Notes, c.notes)
			}
			if !slices.Equal(c.remote, plan.Remote) {
				t.Errorf("remote devices:\n got %q\nwant %q", plan.Remote, c.remote)
			}
		})
	}
}

// bindings are what pods are given, and what engines are started with then.
var bindings = map[string]struct {
	interfaces []string
	workers    int
	cpus       string
	env        map[string]string
	status     string
	args       string
	notes      []string
	remote     []string
	err        string
}{
	"a plain network is a kernel interface by packet socket; one CPU is shared with the control thread": {
		interfaces: []string{"inside,network=default/lan"}, cpus: "4", status: status,
		args: "--bind inside=net1 --workers 1 --eal --lcores=0@(4),1@(4)",
	},
	"AF_XDP is asked for": {
		interfaces: []string{"inside,network=lan,driver=AFXDP"}, cpus: "4-5", workers: 1, status: status,
		args:  "--bind inside=net_af_xdp_net1,iface=net1 --workers 1 --eal --lcores=0@(5),1@(4)",
		notes: []string{shared("4-5", 1)},
	},
	"the interface's name in the pod is enough without Multus' annotation": {
		interfaces: []string{"inside,device=sn0"}, cpus: "0",
		args: "--bind inside=sn0 --workers 1 --eal --lcores=0@(0),1@(0)",
	},
	"a VF is where network-status says, not the first of the resource": {
		interfaces: []string{"outside,network=default/wan,resource=intel.com/sriov_vf"}, cpus: "4-7", status: status,
		env:  map[string]string{"PCIDEVICE_INTEL_COM_SRIOV_VF": "0000:03:00.1,0000:83:00.1"},
		args: "--bind outside=0000:83:00.1 --workers 4 --eal --lcores=0@(4,5,6,7),1@(4),2@(5),3@(6),4@(7)",
	},
	"without network-status VFs are taken in order, and that is said": {
		interfaces: []string{"inside,resource=intel.com/sriov_vf", "outside,resource=intel.com/sriov_vf"}, cpus: "0-1", workers: 1,
		env:   map[string]string{"PCIDEVICE_INTEL_COM_SRIOV_VF": "0000:03:00.1,0000:83:00.3"},
		args:  "--bind inside=0000:03:00.1 --bind outside=0000:83:00.3 --workers 1 --eal --lcores=0@(1),1@(0)",
		notes: []string{"interface inside: network-status does not say which of 0000:03:00.1,0000:83:00.3 is its VF, taken is the first", shared("0-1", 1)},
	},
	"a claim's VF": {
		interfaces: []string{"outside,claim=wan"}, cpus: "4",
		env:  map[string]string{"SRIOVNETWORK_PCI_ADDRESSES": "0000:83:00.1"},
		args: "--bind outside=0000:83:00.1 --workers 1 --eal --lcores=0@(4),1@(4)",
	},
	"a VF that is used as a kernel interface": {
		interfaces: []string{"outside,network=lan,resource=intel.com/sriov_vf,driver=AFXDP"}, cpus: "4", status: status,
		args: "--bind outside=net_af_xdp_net1,iface=net1 --workers 1 --eal --lcores=0@(4),1@(4)",
	},
	"a VF that the kernel drives is used as a kernel interface": {
		interfaces: []string{"outside,resource=intel.com/sriov_vf,device=net1"}, cpus: "4",
		env:   map[string]string{"PCIDEVICE_INTEL_COM_SRIOV_VF": "0000:83:00.2"},
		args:  "--bind outside=net1 --workers 1 --eal --lcores=0@(4),1@(4)",
		notes: []string{"interface outside: VF 0000:83:00.2 is bound to iavf and is used as kernel interface net1: bind it to vfio-pci on the node"},
	},
	"workers sit beside the VF if the cpuset has room there": {
		interfaces: []string{"outside,device=0000:83:00.1"}, cpus: "2-5", workers: 2,
		args:  "--bind outside=0000:83:00.1 --workers 2 --eal --lcores=0@(2,3),1@(4),2@(5)",
		notes: []string{shared("2-5", 2)},
	},
	"a worker on another NUMA node than the VF is reported": {
		interfaces: []string{"outside,device=0000:83:00.1"}, cpus: "3-4", workers: 2,
		args:   "--bind outside=0000:83:00.1 --workers 2 --eal --lcores=0@(3,4),1@(3),2@(4)",
		remote: []string{"interface outside is on NUMA node 1, CPUs 3 are not"},
	},
	"a device that has no NUMA node is near to all": {
		interfaces: []string{"outside,device=0000:83:00.3"}, cpus: "3-4",
		args: "--bind outside=0000:83:00.3 --workers 2 --eal --lcores=0@(3,4),1@(3),2@(4)",
	},
	"an EAL device is passed as it is": {
		interfaces: []string{"a,device=net_ring0,nodeaction=r0:0:CREATE"}, cpus: "0",
		args: "--bind a=net_ring0,nodeaction=r0:0:CREATE --workers 1 --eal --lcores=0@(0),1@(0)",
	},
	"a network that Multus did not attach": {
		interfaces: []string{"inside,network=default/dmz"}, cpus: "0", status: status,
		err: "interface inside: network default/dmz is not attached to the pod, or has no interface there (network-status has: default/lan, default/wan): is Multus installed?",
	},
	"an interface about which nothing is said": {
		interfaces: []string{"inside"}, cpus: "0",
		err: "interface inside: nothing says what its device is: set network or device",
	},
	"a resource that the container did not ask for": {
		interfaces: []string{"outside,resource=intel.com/vf"}, cpus: "0",
		err: "interface outside: no PCI address is left in PCIDEVICE_INTEL_COM_VF: the engine's container must ask for one device for each interface",
	},
	"network-status and resource disagree": {
		interfaces: []string{"outside,network=default/wan,resource=intel.com/vf"}, cpus: "0", status: status,
		env: map[string]string{"PCIDEVICE_INTEL_COM_VF": "0000:03:00.1"},
		err: `interface outside: network-status says 0000:83:00.1, which is not among PCIDEVICE_INTEL_COM_VF="0000:03:00.1": does the network's resource name agree with the chain's?`,
	},
	"a VF of the kernel without an interface in the pod": {
		interfaces: []string{"outside,resource=intel.com/vf"}, cpus: "0",
		env: map[string]string{"PCIDEVICE_INTEL_COM_VF": "0000:83:00.2"},
		err: "interface outside: VF 0000:83:00.2 is bound to iavf and has no interface in the pod: bind it to vfio-pci on the node",
	},
	"more workers than CPUs": {
		interfaces: []string{"a,device=net1"}, cpus: "2-3", workers: 3,
		err: "3 workers, and the engine may use 2 CPUs (2-3): its container must ask for as many whole CPUs",
	},
}

func TestAnInterfaceFlagThatIsWrongIsExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                   `interface "": want its name first, as in inside,network=default/lan`,
		"network=lan":        `interface "network=lan": want its name first, as in inside,network=default/lan`,
		"inside,net=lan":     `interface inside: "net": want network, resource, claim, driver or device`,
		"inside,network=":    "interface inside: network is empty",
		"inside,driver=dpdk": `interface inside: driver "dpdk": want AFPacket, AFXDP, VFIO or Memif`,
	} {
		if _, err := ParseInterface(text); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestCPUListsAreReadAndWrittenAsTheKernelDoes(t *testing.T) {
	for _, text := range []string{"0", "0-3", "0-3,8,10-11"} {
		cpus, err := ParseCPUs(text)
		if err != nil || FormatCPUs(cpus) != text {
			t.Errorf("%s: read as %v (%v), written as %s", text, cpus, err, FormatCPUs(cpus))
		}
	}
	for _, text := range []string{"x", "3-1", "-1", "1-", "99999999999"} {
		if cpus, err := ParseCPUs(text); err == nil {
			t.Errorf("%s: read as %v, want an error", text, cpus)
		}
	}
	if got := FormatCPUs(nil); got != "none" {
		t.Errorf("no CPUs: %q", got)
	}
}

func TestNetworkStatusThatIsNoListIsExplained(t *testing.T) {
	if _, err := ParseNetworkStatus([]byte(`{"a": 1}`)); err == nil || !strings.Contains(err.Error(), "want Multus' JSON list of networks") {
		t.Errorf("got %v", err)
	}
}

func TestNetworkStatusIsWaitedForIfADeviceDependsOnIt(t *testing.T) {
	vfs := func(addresses string) map[string]string {
		return map[string]string{"PCIDEVICE_INTEL_COM_VF": addresses}
	}
	for name, c := range map[string]struct {
		text  string
		env   map[string]string
		waits bool
	}{
		"a plain network":                                   {"in,network=default/lan", nil, true},
		"the interface's name in the pod is given":          {"in,network=default/lan,device=sn0", nil, false},
		"one of several VFs":                                {"in,network=default/lan,resource=intel.com/vf", vfs("0000:03:00.1,0000:83:00.1"), true},
		"the only VF, which DPDK drives":                    {"in,network=default/lan,resource=intel.com/vf", vfs("0000:83:00.1"), false},
		"the only VF, of a driver that is not known":        {"in,network=default/lan,resource=intel.com/vf", vfs("0000:83:00.3"), false},
		"the only VF, which is the kernel's":                {"in,network=default/lan,resource=intel.com/vf", vfs("0000:83:00.2"), true},
		"the only VF, the kernel's by a name that is given": {"in,network=default/lan,resource=intel.com/vf,device=sn0", vfs("0000:83:00.2"), false},
		"a VF by packet socket":                             {"in,network=default/lan,resource=intel.com/vf,driver=AFPacket", vfs("0000:83:00.1"), true},
		"no network":                                        {"in,device=eth1", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := ParseInterface(c.text)
			if err != nil {
				t.Fatal(err)
			}
			g := Grant{Env: c.env, Sys: twoNodes}
			if got := len(Waiting([]Interface{i}, g)) > 0; got != c.waits {
				t.Errorf("it is waited for: %t, want %t", got, c.waits)
			}
			g.Networks = []NetworkStatus{{Name: "default/lan", Interface: "net1"}}
			if got := Waiting([]Interface{i}, g); len(got) > 0 {
				t.Errorf("with network-status it is still waited for %v", got)
			}
		})
	}
}

func TestMemoryThatIsSharedIsASocketOnWhichTheEngineWaits(t *testing.T) {
	i, err := ParseInterface("ips-inside,driver=Memif,device=/run/memif/ips-inside.sock")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make([]Interface{i}, 1, Grant{CPUs: []int{3}, Sys: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	want := Device{Interface: "ips-inside", Device: "net_memif0,role=server,socket=/run/memif/ips-inside.sock,socket-abstract=no", Driver: Memif, Node: NoNode}
	if p.Devices[0] != want {
		t.Errorf("got %+v, want %+v", p.Devices[0], want)
	}
	long := Interface{Name: strings.Repeat("w", 63), Driver: Memif, Device: "/run/memif/" + strings.Repeat("w", 63) + ".sock"}
	p, err = Make([]Interface{i, long}, 1, Grant{CPUs: []int{3}, Sys: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	if name, _, _ := strings.Cut(p.Devices[1].Device, ","); name != "net_memif1" || p.Devices[1].Interface != long.Name {
		t.Errorf("a wire with a long name is %+v, want a device whose name DPDK takes (63 characters) and no other has", p.Devices[1])
	}
	for _, device := range []string{"", "wire1", "/run/a,id=3"} {
		i.Device = device
		if _, err := Make([]Interface{i}, 1, Grant{CPUs: []int{3}, Sys: fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "want the path of a socket") {
			t.Errorf("device %q: got %v", device, err)
		}
	}
}
