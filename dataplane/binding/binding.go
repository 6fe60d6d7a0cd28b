package binding

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Grant is what a pod was given when it started.
type Grant struct {
	CPUs     []int             // that its engine may use
	Env      map[string]string // its environment
	Networks []NetworkStatus   // what Multus attached
	Sys      fs.FS             // /sys
}

// Plan is what an engine is started with.
type Plan struct {
	Devices []Device `json:"devices"`
	Workers []int    `json:"workers"`          // each worker's CPU
	Control []int    `json:"control"`          // CPUs of the control thread
	Notes   []string `json:"notes,omitempty"`  // why something is not as fast as it could be
	Remote  []string `json:"remote,omitempty"` // devices on another NUMA node than a worker
}

// Device is a chain interface's device.
type Device struct {
	Interface string `json:"interface"`
	Device    string `json:"device"` // as the engine takes it: kernel interface, PCI address, EAL device
	Driver    Driver `json:"driver"`
	Link      string `json:"link,omitempty"` // kernel interface
	Node      int    `json:"node"`           // NUMA node
}

// Make decides. Workers is how many there must be; 0: one for each CPU.
func Make(interfaces []Interface, workers int, g Grant) (*Plan, error) {
	d := decision{sys: sysfs{g.Sys}, networks: newNetworks(g.Networks), granted: newGranted(g.Env)}
	for _, i := range interfaces {
		device, err := d.device(i)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", i.Name, err)
		}
		d.plan.Devices = append(d.plan.Devices, device)
	}
	if err := d.cpus(g.CPUs, workers); err != nil {
		return nil, err
	}
	return &d.plan, nil
}

type decision struct {
	sys      sysfs
	networks *networks
	granted  *granted
	plan     Plan
}

func (d *decision) note(format string, args ...any) {
	d.plan.Notes = append(d.plan.Notes, fmt.Sprintf(format, args...))
}

func (d *decision) device(i Interface) (Device, error) {
	variable := i.variable()
	if i.Driver == Memif {
		return memif(i, len(d.plan.Devices))
	}
	if i.Device != "" && variable == "" {
		return d.given(i), nil
	}
	status := d.networks.take(i)
	link := i.Device
	if link == "" && status != nil {
		link = status.Interface
	}
	switch {
	case variable != "" && (i.Driver == "" || i.Driver == VFIO):
		address, err := d.address(i, variable, status)
		if err != nil {
			return Device{}, err
		}
		return d.pci(i, address, link)
	case link != "":
		return d.kernel(i, link), nil
	case i.Network == "":
		return Device{}, errors.New("nothing says what its device is: set network or device")
	default:
		return Device{}, fmt.Errorf("network %s is not attached to the pod, or has no interface there (network-status has: %s): is Multus installed?",
			i.Network, d.networks.names())
	}
}

// given is a device that was named outright.
func (d *decision) given(i Interface) Device {
	switch {
	case isPCI(i.Device):
		return Device{Interface: i.Name, Device: i.Device, Driver: VFIO, Node: d.sys.pciNode(i.Device)}
	case strings.HasPrefix(i.Device, "net_"), strings.HasPrefix(i.Device, "virtio_user"):
		return Device{Interface: i.Name, Device: i.Device, Driver: EAL, Node: NoNode}
	default:
		return d.kernel(i, i.Device)
	}
}

// memif is a socket of its own, on which the engine waits for the other side. DPDK's names of devices are shorter than those of interfaces may be, so it
// has a number.
func memif(i Interface, number int) (Device, error) {
	if !strings.HasPrefix(i.Device, "/") || strings.ContainsAny(i.Device, ",=") {
		return Device{}, fmt.Errorf("device %q: want the path of a socket, as in /run/memif/ips-inside.sock", i.Device)
	}
	return Device{Interface: i.Name, Device: fmt.Sprintf("net_memif%d,role=server,socket=%s,socket-abstract=no", number, i.Device), Driver: Memif, Node: NoNode}, nil
}

func (d *decision) kernel(i Interface, link string) Device {
	device := Device{Interface: i.Name, Device: link, Driver: AFPacket, Link: link, Node: d.sys.linkNode(link)}
	if i.Driver == AFXDP {
		device.Driver, device.Device = AFXDP, "net_af_xdp_"+link+",iface="+link
	}
	return device
}

// address is the VF's. Only network-status says which of several VFs of a resource
// belongs to which network; without it they are taken in order.
func (d *decision) address(i Interface, variable string, status *NetworkStatus) (string, error) {
	if status != nil && status.pciAddress() != "" {
		address := status.pciAddress()
		if !d.granted.take(variable, address) {
			return "", fmt.Errorf("network-status says %s, which is not among %s=%q: does the network's resource name agree with the chain's?",
				address, variable, strings.Join(d.granted.of(variable), ","))
		}
		return address, nil
	}
	left := d.granted.of(variable)
	if len(left) == 0 {
		return "", fmt.Errorf("no PCI address is left in %s: the engine's container must ask for one device for each interface", variable)
	}
	if len(left) > 1 {
		d.note("interface %s: network-status does not say which of %s is its VF, taken is the first", i.Name, strings.Join(left, ","))
	}
	address := left[0]
	d.granted.take(variable, address)
	return address, nil
}

// DPDK drives devices that are bound to one of these, and those whose driver shares the device with it.
var (
	userDrivers   = []string{"vfio-pci", "igb_uio", "uio_pci_generic"}
	sharedDrivers = []string{"mlx4_core", "mlx5_core", "mana"}
)

// drives tells whether DPDK drives a device that is bound to a driver; empty: not known, and tried.
func drives(driver string) bool {
	return driver == "" || slices.Contains(userDrivers, driver) || slices.Contains(sharedDrivers, driver)
}

// pci is a VF: driven by DPDK, or, if it is the kernel's, as the kernel interface that it is in the pod.
func (d *decision) pci(i Interface, address, link string) (Device, error) {
	driver := d.sys.pciDriver(address)
	if drives(driver) {
		return Device{Interface: i.Name, Device: address, Driver: VFIO, Node: d.sys.pciNode(address)}, nil
	}
	if link == "" {
		return Device{}, fmt.Errorf("VF %s is bound to %s and has no interface in the pod: bind it to vfio-pci on the node", address, driver)
	}
	d.note("interface %s: VF %s is bound to %s and is used as kernel interface %s: bind it to vfio-pci on the node", i.Name, address, driver, link)
	device := d.kernel(i, link)
	device.Node = d.sys.pciNode(address)
	return device, nil
}

// Interfaces are those of the chain that have a device; of no plan none.
func (p *Plan) Interfaces() (names []string) {
	if p == nil {
		return nil
	}
	for _, d := range p.Devices {
		names = append(names, d.Interface)
	}
	return names
}

// Args are the engine's flags.
func (p *Plan) Args() []string {
	var args []string
	for _, d := range p.Devices {
		args = append(args, "--bind", d.Interface+"="+d.Device)
	}
	lcores := "0@(" + joinCPUs(p.Control) + ")"
	for i, cpu := range p.Workers {
		lcores += fmt.Sprintf(",%d@(%d)", i+1, cpu)
	}
	return append(args, "--workers", strconv.Itoa(len(p.Workers)), "--eal", "--lcores="+lcores)
}

// isPCI tells a PCI address, with or without its domain.
func isPCI(text string) bool {
	bus, function, found := strings.Cut(text, ".")
	parts := strings.Split(bus, ":")
	if !found || len(function) != 1 || len(parts) < 2 || len(parts) > 3 {
		return false
	}
	for _, p := range append(parts, function) {
		if _, err := strconv.ParseUint(p, 16, 32); err != nil {
			return false
		}
	}
	return true
}

// CPU is the CPU of a worker, which the engine calls lcore; without a plan it is not known, and the lcore stands for it.
func (p *Plan) CPU(worker int, lcore uint32) int {
	if p == nil || worker >= len(p.Workers) {
		return int(lcore)
	}
	return p.Workers[worker]
}
