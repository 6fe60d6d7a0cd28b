package binding

import "strings"

// claimVariable is where the SR-IOV driver of dynamic resource allocation lists a pod's PCI addresses.
const claimVariable = "SRIOVNETWORK_PCI_ADDRESSES"

// variable is the environment variable that lists the PCI addresses which the interface's is among.
func (i Interface) variable() string {
	switch {
	case i.Resource != "":
		return resourceVariable(i.Resource)
	case i.Claim != "":
		return claimVariable
	default:
		return ""
	}
}

// resourceVariable is the environment variable of a resource of the SR-IOV device plugin.
func resourceVariable(resource string) string {
	return "PCIDEVICE_" + strings.ToUpper(strings.NewReplacer(".", "_", "/", "_").Replace(resource))
}

// granted are the PCI addresses that the pod was given and no interface has taken.
type granted struct {
	env  map[string]string
	left map[string][]string // by variable
}

func newGranted(env map[string]string) *granted {
	return &granted{env: env, left: map[string][]string{}}
}

// of are a variable's addresses, in the order in which it has them.
func (g *granted) of(variable string) []string {
	if _, known := g.left[variable]; !known {
		g.left[variable] = strings.FieldsFunc(g.env[variable], func(r rune) bool { return r == ',' || r == ' ' })
	}
	return g.left[variable]
}

// take takes an address; false: it was not given, or is taken.
func (g *granted) take(variable, address string) bool {
	list := g.of(variable)
	for k, a := range list {
		if a == address {
			g.left[variable] = append(list[:k:k], list[k+1:]...)
			return true
		}
	}
	return false
}
