package lower_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/manifest"
	"github.com/sinter-nfv/sinter/dataplane/graph/graphtest"
)

const contained = "inside: a, outside: b, image: ips, whenDown: Closed"

func TestWhatIsWrongWithAContainer(t *testing.T) {
	const at = "spec.functions[0].blackbox"
	for name, k := range map[string]struct{ interfaces, spec, want string }{
		"nothing is said of its end": {wires, "inside: a, outside: b, image: ips", "image needs whenDown: say what becomes of packets while the container is down, Open or Closed"},
		"arguments of nothing":       {wires, "inside: a, outside: b, args: [x]", "command, args, env, transport, capabilities and resources need image"},
		"a right that none gets":     {wires, contained + ", capabilities: [SYS_ADMIN]", at + `.capabilities[0]: "SYS_ADMIN": must be one of NET_RAW, NET_ADMIN, IPC_LOCK, SYS_NICE`},
		"no CPU":                     {wires, contained + ", resources: {cpu: 1m}", at + `.resources.cpu: "1m": must be from 10m to 64, like 500m or 2`},
		"no memory":                  {wires, contained + ", resources: {memory: 1Ki}", at + `.resources.memory: "1Ki": must be from 1Mi to 10Ti, like 512Mi or 2Gi`},
		"more CPUs than any node":    {wires, contained + ", resources: {cpu: 65}", `"65": must be from 10m to 64`},
		"a capacity of nothing":      {wires, contained + ", scaling: {capacity: 0pps}", at + `.scaling.capacity: "0pps": must be from 1pps to 1000Mpps`},
		"a capacity in bits":         {wires, contained + ", scaling: {capacity: 1 Gbit/s}", at + `.scaling.capacity: "1 Gbit/s": must be a rate of packets, like "200 kpps"`},
		"less than no memory":        {wires, contained + ", resources: {memory: -1Gi}", "must be "},
		"a variable without a name":  {wires, contained + ", env: [{name: 1A, value: x}]", at + ".env[0].name: "},
		"a wire with a network": {
			"  - {name: a, wire: true, networkRef: {name: lan}}\n  - {name: b, wire: true}\n", contained,
			`spec.interfaces[2].networkRef: "lan": the blackbox has an image, so the wire is within the pod; leave it out, or run the function yourself and leave image out`,
		},
		"a wire with a card": {
			"  - {name: a, wire: true}\n  - {name: b, wire: true, resourceName: intel.com/vf}\n", contained, `spec.interfaces[3].resourceName: "intel.com/vf": the blackbox has an image`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, boxed(k.interfaces, k.spec, through), k.want)
		})
	}
}

func TestWhatSharedMemoryCannotBe(t *testing.T) {
	const shared = contained + ", transport: Memif"
	long := "  - {name: a-wire-with-a-long-name, wire: true}\n  - {name: eth0, wire: true}\n"
	if found := graphtest.Findings(t, boxed(long, strings.NewReplacer("inside: a", "inside: a-wire-with-a-long-name", "outside: b", "outside: eth0").Replace(shared), through)); len(found) > 0 {
		t.Errorf("got\n%s\nwant nothing: there are no devices that have these names", found)
	}
	for name, k := range map[string]struct{ chain, want string }{
		"no container": {boxed(wires, "inside: a, outside: b, transport: Veth", through), "transport, capabilities and resources need image"},
		"unknown":      {boxed(wires, contained+", transport: Vhost", through), `spec.functions[0].blackbox.transport: "Vhost": must be one of Veth, Memif`},
		"an interface": {strings.Replace(boxed(wires, contained, through), "name: a, wire: true", "name: a, wire: true, driver: Memif", 1), `spec.interfaces[2].driver: "Memif": must be one of VFIO, AFXDP, AFPacket`},
		"two cores": {
			boxed(wires, shared, through) + "  scaling: {maxCores: 2}\n",
			`spec.functions[0].blackbox.transport: "Memif": is for instances with one core, and those of the chain own 2; set scaling.minCores and maxCores to 1, or transport to Veth`,
		},
		"large packets": {
			strings.Replace(boxed(wires, shared, through), "name: outside,", "name: outside, mtu: 9000,", 1),
			`spec.functions[0].blackbox.transport: "Memif": carries packets of up to 1500 bytes, and interface "outside" has mtu 9000; leave its mtu out, or set transport to Veth`,
		},
		"a large wire": {boxed(strings.Replace(wires, "wire: true", "wire: true, mtu: 1600", 1), shared, through), `and interface "a" has mtu 1600`},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, k.chain, k.want)
		})
	}
}

// named is a chain with a container, whose wires and function have other names.
func named(inside, outside, function string) string {
	text := boxed("  - {name: "+inside+", wire: true}\n  - {name: "+outside+", wire: true}\n", "inside: "+inside+", outside: "+outside+", image: ips, whenDown: Closed", through)
	return strings.NewReplacer("name: ips,", "name: "+function+",", ", ips,", ", "+function+",").Replace(text)
}

func TestAContainerAndItsDevicesHaveNamesThatThePodHasNotYet(t *testing.T) {
	for chain, want := range map[string]string{
		named("ips-inside", "ips-outside", "ips"):      "",
		named("fifteen-letters", "ips-outside", "ips"): "",
		named("sixteen-letters1", "b", "ips"):          `spec.interfaces[2].name: "sixteen-letters1": the network device of the container has this name, and may have up to 15 characters`,
		named("a", "eth0", "ips"):                      `spec.interfaces[3].name: "eth0": the network device of the container has this name, which another device of the pod may have`,
		named("net12", "b", "ips"):                     `spec.interfaces[2].name: "net12": `,
		named("wire1", "b", "ips"):                     `spec.interfaces[2].name: "wire1": `,
		named("lo", "b", "ips"):                        `spec.interfaces[2].name: "lo": `,
		named("a", "b", "engine"):                      `spec.functions[0].name: "engine": the pod has another container of this name`,
		named("a", "b", "agent"):                       `spec.functions[0].name: "agent": `,
		named("a", "b", "wires"):                       `spec.functions[0].name: "wires": `,
		strings.Replace(named("eth0", "b", "engine"), ", image: ips, whenDown: Closed", "", 1): "",
	} {
		found := graphtest.Findings(t, chain)
		if found.HasErrors() != (want != "") || !strings.Contains(found.String(), want) {
			t.Errorf("%s\ngot\n%s\nwant in it\n%s", chain, found, want)
		}
	}
}

// An API server with the CRDs of another release may take what these refuse.
func TestAContainerNeedsAWordOnItsEndWithoutTheRulesOfTheAPI(t *testing.T) {
	b, found := manifest.Parse("chain.yaml", []byte(boxed(wires, contained, through)), graphtest.Read)
	b.Chains[0].Spec.Functions[0].Blackbox.WhenDown = ""
	_, found = graphtest.Build(t, b, found)
	if want := "spec.functions[0].blackbox.whenDown: image needs it"; !found.HasErrors() || !strings.Contains(found.String(), want) {
		t.Errorf("got\n%s\nwant in it\n%s", found, want)
	}
}
