// Package hostile has what somebody would write who means harm: inputs that are right, small, and as costly as we found that they may be.
package hostile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Costly is a chain of 3 KB that takes as much memory to compile as we found that one may: 340 MB, which comes to a program that is too large.
func Costly(name string, rng *rand.Rand) string {
	some := func(n int, one func() string) string {
		var list []string
		for len(list) < n {
			if s := one(); !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		return strings.Join(list, ", ")
	}
	prefix := func() string { return fmt.Sprintf("%d.%d.0.0/16", 12+rng.IntN(200), rng.IntN(256)) }
	port := func() string { return strconv.Itoa(1 + 2*rng.IntN(32000)) }
	var functions strings.Builder
	for _, f := range []string{"f0", "f1"} {
		fmt.Fprintf(&functions, "  - name: %s\n    firewall:\n      default: Accept\n      rules:\n"+
			"      - {name: r, protocol: tcp, action: Drop, source: [%s], destination: [%s], sourcePorts: [%s], destinationPorts: [%s]}\n",
			f, some(16, prefix), some(16, prefix), some(64, port), some(60, port))
	}
	return "apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChain\nmetadata: {name: " + name + "}\nspec:\n" +
		"  interfaces:\n  - {name: inside, address: 10.0.0.1/24, networkRef: {name: a}}\n  - {name: outside, address: 11.0.0.1/24, networkRef: {name: b}}\n" +
		"  functions:\n" + functions.String() + "  path: [inside, f0, f1, outside]\n"
}
