package wiring

import (
	"regexp"
	"strings"
)

// DeviceName is a device without its arguments, a PCI address with its domain.
func DeviceName(device string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(device, "pci:"), ",")
	if shortPCI.MatchString(name) {
		name = "0000:" + name
	}
	return name
}

var shortPCI = regexp.MustCompile(`^[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`)
