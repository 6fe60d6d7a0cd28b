package manifest

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// The reader takes the amounts of memory that the API server takes.
func TestAmountsOfMemoryAreQuantities(t *testing.T) {
	text, err := yaml.YAMLToJSON([]byte("apiVersion: nfv.sinter.dev/v1alpha1\nkind: ServiceChain\nmetadata: {name: edge}\nspec:\n" +
		"  interfaces: [{name: inside, address: 10.0.0.1/24}]\n  path: [inside, inside]\n"))
	must(t, err)
	s := servers(t)["ServiceChain"]
	for field, values := range map[string]map[any]bool{
		"hugepages": {
			"512Mi": true, "1.5Gi": true, "2M": false, "2097152": true, int64(1 << 21): true, int64(1 << 32): true, "1Ti": true, "2Ti": false, "1024Gi": true,
			"511Mi": false, "0": false, "0.5Mi": false, int64(512): false, int64(-1 << 21): false, "-2Mi": false, "512m": false, "2e9": false, "2097152.5": false, "512MB": false,
			"": false, "Mi": false, "9999999999999999999Ti": false, "1E999999999": false, true: false, 2.5: false,
		},
		"memory": {
			"256Mi": true, "500M": true, "1.5Gi": true, "0.1Gi": true, "1Mi": true, "1023Ki": false, "10Ti": true, "11Ti": false, int64(1 << 28): true,
			int64(100): false, "100": false, "1.2.3Gi": false,
		},
	} {
		for value, right := range values {
			var o map[string]any
			must(t, utiljson.Unmarshal(text, &o))
			o["spec"].(map[string]any)["resources"] = map[string]any{field: value}
			if why := reader(t, o); (len(why) == 0) != right {
				t.Errorf("%s %v: the reader says %q, want it to be right: %v", field, value, why, right)
			}
			if why := s.refuses(t, o); (len(why) == 0) != right {
				t.Errorf("%s %v: the API server says %q, want it to be right: %v", field, value, why, right)
			}
		}
	}
}
