package placement

import (
	"fmt"

	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/element"
)

func init() {
	Register(v1alpha1.ElementICMPError, "icmpError", func(e *v1alpha1.Element) *v1alpha1.ICMPErrorElement { return e.ICMPError }, placeICMPError)
}

func placeICMPError(p *Place, spec *v1alpha1.ICMPErrorElement) {
	path := "icmpError"
	e := element.ICMPError{}
	if spec.Code != nil {
		e.Code = uint8(*spec.Code)
	}
	switch {
	case spec.Type == nil:
		p.Fail(path+".type", "", "is missing, and required")
		return
	case *spec.Type != 3 && *spec.Type != 11 && *spec.Type != 12:
		p.Fail(path+".type", fmt.Sprint(*spec.Type), "is not an ICMP error that a function may send; use 3 (unreachable), 11 (time exceeded) or 12 (parameter problem)")
		return
	}
	e.Type = uint8(*spec.Type)
	if spec.Source != "" {
		a, problem := rules.ParseAddress(string(spec.Source))
		if !p.Problem(path+".source", problem) {
			return
		}
		e.Source = a
	}
	p.Element = e
}
