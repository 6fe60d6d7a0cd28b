package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// configMap names a ConfigMap among the files.
type configMap struct{ namespace, name string }

// addConfigMap stores a ConfigMap's texts, for the resources that refer to them.
func (l *loader) addConfigMap(object finding.Object, n *yaml.Node) error {
	for c := range l.configMaps {
		if c.name == object.Name { // texts are known by name and key
			return fmt.Errorf("%q is there twice, also in namespace %q; give one of them at a time", c.name, c.namespace)
		}
	}
	var content struct {
		Data       map[string]string `yaml:"data"`
		BinaryData map[string]string `yaml:"binaryData"`
	}
	if err := n.Decode(&content); err != nil {
		return err
	}
	texts := map[string][]byte{}
	for key, text := range content.Data {
		texts[key] = []byte(text)
	}
	for key, text := range content.BinaryData {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("binaryData.%s: not base64: %w", key, err)
		}
		texts[key] = data
	}
	l.configMaps[configMap{object.Namespace, object.Name}] = texts
	return nil
}

// configMapText is the text of a ConfigMap's key.
func (l *loader) configMapText(namespace string, ref *v1alpha1.ConfigMapKeyRef) ([]byte, error) {
	texts, ok := l.configMaps[configMap{namespace, ref.Name}]
	if !ok {
		var known []string
		for c := range l.configMaps {
			if c.namespace == namespace {
				known = append(known, c.name)
			}
		}
		return nil, finding.Missing(fmt.Sprintf("no ConfigMap %q in the same file or folder%s", ref.Name, finding.DidYouMean(ref.Name, known)))
	}
	text, ok := texts[ref.Key]
	if !ok {
		return nil, finding.Missing(fmt.Sprintf("ConfigMap %q has no key %q%s", ref.Name, ref.Key, finding.DidYouMean(ref.Key, slices.Collect(maps.Keys(texts)))))
	}
	return text, nil
}
