package click

import "strings"

// Devices are the classes of elements that take packets from a device, or send them.
var Devices = map[string]bool{
	"FromDevice": false, "PollDevice": false, "FromDPDKDevice": false, "FromNetmapDevice": false,
	"ToDevice": true, "ToDPDKDevice": true, "ToNetmapDevice": true,
}

// Device is the argument that names an element's device; ok is false if there is none.
func (e *Element) Device() (a Arg, ok bool) {
	for _, a := range e.Args {
		key, value, isKeyword := Keyword(a.Text)
		if isKeyword && (key == "DEVNAME" || key == "PORT") {
			a.Text = strings.TrimSpace(value)
			return a, true
		}
	}
	if len(e.Args) > 0 {
		if _, _, isKeyword := Keyword(e.Args[0].Text); !isKeyword {
			return e.Args[0], true
		}
	}
	return Arg{}, false
}

// maxPortName is the longest name of a port of a function.
const maxPortName = 63

// PortName is the name of the port that a device becomes: small letters, digits and "-". Empty: it can be none. "extern:eth" is that of
// AddressInfo's name.
func PortName(device string) string {
	device = strings.TrimPrefix(device, "netmap:")
	if name, kind, ok := strings.Cut(device, ":"); ok && kind == "eth" {
		device = name
	}
	var b strings.Builder
	for _, c := range strings.ToLower(device) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	name := strings.TrimRight(b.String(), "-")
	switch {
	case name == "" || len(name) > maxPortName-5:
		return ""
	case name[0] <= '9':
		return "port-" + name
	}
	return name
}
