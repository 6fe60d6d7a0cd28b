// Package kept compares an object with what the API server stores of it. A server that lacks a field, or has it switched off, removes
// it silently.
package kept

import (
	"encoding/json"
	"fmt"
)

// Missing lists the fields of the sent object that the other one lacks or has with other values. Fields that it has in addition,
// such as defaults, do not count.
func Missing(sent, got any) ([]string, error) {
	var plain [2]any
	for i, o := range []any{sent, got} {
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &plain[i]); err != nil {
			return nil, err
		}
	}
	return missing("", plain[0], plain[1]), nil
}

func missing(path string, sent, got any) (paths []string) {
	switch sent := sent.(type) {
	case nil:
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{path}
		}
		for key, value := range sent {
			paths = append(paths, missing(path+"."+key, value, got[key])...)
		}
	case []any:
		got, _ := got.([]any)
		if len(got) < len(sent) {
			return []string{fmt.Sprintf("%s: %d of %d entries", path, len(sent)-len(got), len(sent))}
		}
		for i, value := range sent {
			paths = append(paths, missing(fmt.Sprintf("%s[%d]", path, i), value, got[i])...)
		}
	default:
		if sent != got {
			paths = append(paths, fmt.Sprintf("%s: sent %v, got %v", path, sent, got))
		}
	}
	return paths
}
