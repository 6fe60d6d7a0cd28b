package binding

// Waiting are the networks without whose entry in network-status an interface's device cannot be known. Multus writes
// the annotation as the pod's sandbox is made, and kubelet brings it into the file later, perhaps after
// the container has started.
func Waiting(interfaces []Interface, g Grant) []string {
	networks, granted, sys := newNetworks(g.Networks), newGranted(g.Env), sysfs{g.Sys}
	var waiting []string
	for _, i := range interfaces {
		if i.Network == "" || networks.take(i) != nil {
			continue
		}
		vfs := granted.of(i.variable())
		kernel := i.Driver == AFPacket || i.Driver == AFXDP || i.variable() == "" || len(vfs) == 1 && !drives(sys.pciDriver(vfs[0]))
		if kernel && i.Device == "" || !kernel && len(vfs) > 1 {
			waiting = append(waiting, i.Network)
		}
	}
	return waiting
}
