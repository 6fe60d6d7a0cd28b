package manifest

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/click"
	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// clickSuffix is that of files which are a Click configuration.
const clickSuffix = ".click"

// clickFunction is the name of the chain's only function.
const clickFunction = "click"

// clickFile takes a configuration as a chain: its devices are the interfaces, whose addresses AddressInfo gives under the devices' names.
func (l *loader) clickFile(name string, data []byte) {
	l.bundle.Sources = append(l.bundle.Sources, name)
	config, problems := click.Parse(string(data))
	var interfaces []map[string]any
	if config != nil {
		var wrong []click.Problem
		if interfaces, wrong = clickInterfaces(config); len(wrong) > 0 {
			problems, config = append(problems, wrong...), nil
		}
	}
	if config == nil {
		for _, p := range problems {
			l.findings = append(l.findings, clickFinding(name, p))
		}
		return
	}
	links := []map[string]any{}
	for _, i := range interfaces {
		links = append(links, map[string]any{"from": i["name"], "to": clickFunction + "." + i["name"].(string)})
	}
	var n yaml.Node
	err := n.Encode(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindServiceChain,
		"metadata": map[string]any{"name": chainName(name)},
		"spec": map[string]any{
			"interfaces": interfaces, "links": links, "functions": []map[string]any{{"name": clickFunction, "click": string(data)}},
		},
	})
	if err != nil {
		l.findings = append(l.findings, finding.Finding{Code: finding.Unreadable, File: name, Message: err.Error()})
		return
	}
	object, _ := identify(&n)
	l.document(name, &n, nil)
	if d := l.bundle.documents[object]; d != nil && d.file == name {
		d.text, d.blocks["spec.functions[0].click"] = true, 0
	}
}

func clickFinding(file string, p click.Problem) finding.Finding {
	f := finding.Finding{File: file, Line: p.Line, Field: columnOf(p.Column), Value: p.Value, Message: p.Message}
	if p.Warning {
		f.Severity = finding.Warning
	}
	if p.Element != "" {
		f.Message = p.Element + ": " + p.Message
	}
	return f
}

// chainName is the name of a file as that of a chain.
func chainName(file string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(filepath.Base(file), clickSuffix))), "-")
	if name == "" {
		return clickFunction
	}
	return name
}

// clickInterfaces are the interfaces of a configuration's devices, in the order of the text.
func clickInterfaces(c *click.Config) (out []map[string]any, problems []click.Problem) {
	names, problems := c.Addresses()
	own := map[netip.Addr]bool{}
	var ports []string
	for i := range c.Elements {
		e := &c.Elements[i]
		if _, is := click.Devices[e.Class]; !is {
			continue
		}
		a, ok := e.Device()
		device := strings.Trim(a.Text, `"'`)
		port := click.PortName(device)
		if !ok || port == "" || slices.Contains(ports, port) {
			continue // what is wrong is said where the configuration is lowered
		}
		ports = append(ports, port)
		known, _, _ := strings.Cut(strings.TrimPrefix(device, "netmap:"), ":")
		n, named := names[known]
		if !named {
			known = port
			n = names[known]
		}
		if !n.IP.IsValid() || !n.Prefix.IsValid() || !n.Prefix.Contains(n.IP) {
			problems = append(problems, click.Problem{
				Pos: a.Pos, Element: e.String(), Value: device,
				Message: "nothing says the address of this interface and its prefix; write AddressInfo(" + port + " 192.0.2.1/24)",
			})
			continue
		}
		own[n.IP] = true
		face := map[string]any{"name": port, "address": netip.PrefixFrom(n.IP, n.Prefix.Bits()).String()}
		if n.Ether != nil {
			face["mac"] = n.Ether.String()
		}
		if strings.Trim(device, "0123456789") != "" && !strings.HasSuffix(device, ":eth") {
			face["device"] = strings.TrimPrefix(device, "netmap:")
		}
		out = append(out, face)
	}
	addNeighbors(out, names, own)
	return out, problems
}

// addNeighbors makes neighbours of the names that have an IP and an Ethernet address.
func addNeighbors(interfaces []map[string]any, names click.Addresses, own map[netip.Addr]bool) {
	byAddress := map[netip.Addr]string{}
	for _, n := range names {
		if n.IP.IsValid() && n.Ether != nil && !own[n.IP] {
			byAddress[n.IP] = max(byAddress[n.IP], n.Ether.String())
		}
	}
	var addrs []netip.Addr
	for a := range byAddress {
		addrs = append(addrs, a)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	for _, i := range interfaces {
		prefix := netip.MustParsePrefix(i["address"].(string)).Masked()
		var list []map[string]any
		for _, a := range addrs {
			if prefix.Contains(a) {
				list = append(list, map[string]any{"address": a.String(), "mac": byAddress[a]})
			}
		}
		if list != nil {
			i["neighbors"] = list
		}
	}
}
