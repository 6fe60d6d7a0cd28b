package telemetry

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/delivery"
	"github.com/sinter-nfv/sinter/dataplane/program/rule"
)

// hostsOf are the names of a program's functions that are hosts, by the interfaces in whose networks they are.
func hostsOf(p *delivery.Program) map[string]string {
	hosts := map[string]string{}
	for _, i := range p.GetInterfaces() {
		if !i.GetWire() && i.GetFunction() != "" {
			hosts[i.GetName()] = i.GetFunction()
		}
	}
	return hosts
}

func watchesHosts(p *delivery.Program) bool {
	for _, i := range p.GetInterfaces() {
		if i.GetWatched() != 0 {
			return true
		}
	}
	return false
}

// hostsThere says of hosts that are functions which ones are there, and what becomes of packets for the others.
func hostsThere(list []*controlpb.HostStats) (up, down []string) {
	for _, h := range list {
		host := fmt.Sprintf("%s at %s", rule.Address(h.GetAddress()), h.GetInterface())
		if h.GetDown() {
			down = append(down, host+" does not answer ARP: packets for it are dropped as neighbor-unresolved")
		} else {
			up = append(up, host)
		}
	}
	return up, down
}

// addHosts has functions that are hosts among the others, and those not ready that do not answer.
func addHosts(functions map[string]*v1alpha1.FunctionStatus, p *delivery.Program, s *controlpb.Stats) {
	hosts := hostsOf(p)
	for _, name := range hosts {
		functions[name] = &v1alpha1.FunctionStatus{Name: v1alpha1.Name(name), Ready: true}
	}
	for _, h := range s.GetHosts() {
		if f := functions[hosts[h.GetInterface()]]; f != nil && h.GetDown() {
			f.Ready = false
		}
	}
}
