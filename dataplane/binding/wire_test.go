package binding_test

import (
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/binding"
)

func TestAWireIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]binding.Wire{
		"wire1=ips-inside":          {Engine: "wire1", Function: "ips-inside", MTU: 1500},
		"wire2=ips-inside,mtu=9000": {Engine: "wire2", Function: "ips-inside", MTU: 9000},
	} {
		got, err := binding.ParseWire(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %s (%v), want %+v", text, got, got, err, want)
		}
	}
	for _, text := range []string{"", "wire1", "wire1=", "=ips", "wire1=a-name-of-16-char", "wire1=ips,", "wire1=ips,mtu", "wire1=ips,mtu=67", "wire1=ips,mtu=x", "wire1=ips,9000"} {
		if _, err := binding.ParseWire(text); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%q: got %v, want an error that says what is right", text, err)
		}
	}
}
