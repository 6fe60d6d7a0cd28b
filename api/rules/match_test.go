package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

func apart(addresses, ports int) (*v1alpha1.Match, string) {
	m := &v1alpha1.Match{}
	for i := range addresses {
		m.Source = append(m.Source, v1alpha1.AddressSet(fmt.Sprintf("10.%d.%d.0/25", i>>8, i&255)))
		m.Destination = append(m.Destination, v1alpha1.AddressSet(fmt.Sprintf("20.%d.%d.0/25", i>>8, i&255)))
	}
	for i := range ports {
		m.DestinationPorts = append(m.DestinationPorts, intstr.FromInt(2*i))
	}
	return m, fmt.Sprintf("%d sources × %d destinations × %d destination ports", addresses, addresses, ports)
}

func TestARuleOfTooManyCombinationsIsRefused(t *testing.T) {
	fits, _ := apart(100, 100)
	if _, problems := rules.Filter(fits); len(problems) > 0 {
		t.Errorf("a million combinations: %v, want them taken", problems)
	}
	m, words := apart(256, 17)
	_, problems := rules.Filter(m)
	if len(problems) != 1 || problems[0].Warning || !strings.Contains(problems[0].Message, words) {
		t.Errorf("%v, want one that says %q", problems, words)
	}
	// Neighbours count as what they are together.
	near := &v1alpha1.Match{Source: m.Source, DestinationPorts: m.DestinationPorts}
	for i := range 1024 {
		near.Destination = append(near.Destination, v1alpha1.AddressSet(fmt.Sprintf("20.0.%d.0/24", i&255)))
	}
	if _, problems := rules.Filter(near); len(problems) > 0 {
		t.Errorf("destinations that are one range: %v, want them taken", problems)
	}
}
