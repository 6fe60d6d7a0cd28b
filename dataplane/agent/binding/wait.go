package binding

// Waiting are the networks without whose entry in network-status an interface's device cannot be known. Multus writes
// the annotation as the pod's sandbox is made, and kubelet brings it into the file later, perhaps after
// the container has started.
func Waiting(interfaces []Interface, list []NetworkStatus, env map[string]string) []string {
	networks, granted := newNetworks(list), newGranted(env)
	var waiting []string
	for _, i := range interfaces {
		if i.Network == "" || networks.take(i) != nil {
			continue
		}
		kernel := i.Driver == AFPacket || i.Driver == AFXDP || i.variable() == ""
		if kernel && i.Device == "" || !kernel && len(granted.of(i.variable())) > 1 {
			waiting = append(waiting, i.Network)
		}
	}
	return waiting
}
