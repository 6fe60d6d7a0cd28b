package rights

import (
	"reflect"
	"testing"
)

// TestNoRightIsForAllObjects: RBAC takes a rule without names for one about all objects of the namespace.
func TestNoRightIsForAllObjects(t *testing.T) {
	for name, test := range map[string]struct {
		instances, programs []string
		want                map[string][]string // the names of each resource
	}{
		"nothing yet":        {want: map[string][]string{}},
		"no program yet":     {instances: []string{"edge-0"}, want: map[string][]string{"chaininstances": {"edge-0"}, "chaininstances/status": {"edge-0"}}},
		"no instance yet":    {programs: []string{"edge-1"}, want: map[string][]string{"chainprograms": {"edge-1"}}},
		"a program of two":   {instances: []string{"edge-1", "edge-0"}, programs: []string{"p", "p"}, want: map[string][]string{"chaininstances": {"edge-0", "edge-1"}, "chaininstances/status": {"edge-0", "edge-1"}, "chainprograms": {"p"}}},
		"empty, but not nil": {instances: []string{}, programs: []string{}, want: map[string][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for _, rule := range Agent(test.instances, test.programs) {
				for _, resource := range rule.Resources {
					got[resource] = rule.ResourceNames
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("agents may work on %v, want %v", got, test.want)
			}
		})
	}
}
