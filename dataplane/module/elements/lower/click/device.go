package click

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-nfv/sinter/api/click"
)

func init() {
	for name, sends := range click.Devices {
		if sends {
			register("1-/0-1", configureTo, enterTo, name)
		} else {
			register("0/1", configureFrom, func(x *visit, _ device) target { return x.onward(0, x.state) }, name)
		}
	}
	register("0/1", ignored, func(*visit, nothing) target { return "" }, "FromHost")
	register("1/0", ignored, enterHost, "ToHost", "ToHostSniffers")
}

// device is a FromDevice or ToDevice.
type device struct {
	element int
	name    string // as it is written
	port    string
	sends   bool
}

// deviceArguments are keywords that say how a device is driven, which an interface decides by itself.
var deviceArguments = []string{
	"ACTIVE", "ALLOW_NONEXISTENT", "BLOCKING", "BURST", "CAPTURE", "DEBUG", "HEADROOM", "INTERNAL_BURST", "IQUEUE", "KEEPON", "MAXQUEUES", "MAXTHREADS", "METHOD", "MTU",
	"MTU_ANNO", "NDESC", "NO_PAD", "N_QUEUES", "NUMA", "NUMA_NODE", "OUTBOUND", "PACKET", "PREFETCH", "PROMISC", "PROTOCOL", "QUEUE", "QUIET", "RSS_AGGREGATE",
	"SCALE", "SET_RSS_AGGREGATE", "SET_PAINT_ANNO", "SNAPLEN", "SNIFFER", "THREADOFFSET", "TIMEOUT", "TIMESTAMP", "TX_CAPTURE", "UP_CALL", "VERBOSE", "ENCAP", "HEADS",
	"TCO", "UCO", "IPCO", "PAUSE", "FLOW_RULES_FILE", "MODE", "TSO", "LRO", "RX_INTR", "MQUEUE",
}

func configureFrom(r *reader) device {
	r.ignore(deviceArguments...)
	force := r.boolean("FORCE_IP", false)
	d := configureDevice(r, false)
	if force {
		r.failOnce(r.element, false, "FORCE_IP is not known; put CheckIPHeader(14) behind the device")
	}
	if a, ok := r.keyword("BPF_FILTER"); ok {
		r.fail(a, a.Text, "BPF_FILTER is not known; put an IPFilter behind the device")
	}
	return d
}

func configureTo(r *reader) device {
	r.ignore(deviceArguments...)
	return configureDevice(r, true)
}

func configureDevice(r *reader, sends bool) device {
	d := device{element: r.element, sends: sends}
	a, ok := r.keyword("DEVNAME")
	if !ok {
		a, ok = r.argument("PORT")
	}
	if !ok {
		r.fail(r.whole(), "", "needs the name of a device; write %s(eth0)", r.e.Class)
		return d
	}
	d.name = unquoted(a.Text)
	if d.port = click.PortName(d.name); d.port == "" {
		r.fail(a, a.Text, "not the name of a device; write it like eth0, 0 or 0000:03:00.0")
		return d
	}
	for n, ok := r.next(); ok && !sends; n, ok = r.next() { // the number of a queue, or a flag of old
		if strings.Trim(n.Text, "0123456789-truefalsTFyno") != "" {
			r.fail(n, n.Text, "%s takes no such argument; leave it out", r.e.Class)
		}
	}
	r.devices = append(r.devices, d)
	return d
}

// ports are the names of the function's ports, and their devices, in the order of the text.
func (l *lowerer) ports() (names, devices []string) {
	for _, d := range l.devices {
		if i := slices.Index(names, d.port); i < 0 {
			names, devices = append(names, d.port), append(devices, d.name)
		} else if devices[i] != d.name && strings.TrimSuffix(devices[i], ":eth") != strings.TrimSuffix(d.name, ":eth") {
			l.failOnce(d.element, false, "the devices %s and %s would both be the port %q; give them names that differ in letters or digits", devices[i], d.name, d.port)
		}
	}
	if len(names) > 64 {
		l.failOnce(l.devices[0].element, false, "the configuration has %d devices; a function has at most 64 ports", len(names))
	}
	return names, devices
}

// enterTo sends packets. The interface gives them their Ethernet header.
func enterTo(x *visit, d device) target {
	switch {
	case x.ether == stripped || x.begin != -14:
		x.failOnce(x.element, false, "packets come here without an Ethernet header; put ARPQuerier or EtherEncap before it")
		return ""
	case x.ether == asReceived:
		x.failOnce(x.element, true, "frames leave with the Ethernet addresses of the interface and of the packet's next hop, not with those that they came with; "+
			"to choose the next hop, put Strip(14), a route lookup and ARPQuerier before it")
	}
	return target(d.port)
}

// enterHost is the end of packets: no host lies behind an engine. What is sent to an interface's own addresses never gets into the chain.
func enterHost(x *visit, _ nothing) target {
	if x.el.Class == "ToHost" {
		x.failOnce(x.element, true, "no host lies behind: packets to addresses of the interfaces are answered before they get here, and all others are dropped as %q",
			fmt.Sprintf("<function>/%s/to-host", x.el.Name))
	}
	return x.lost("to-host")
}
