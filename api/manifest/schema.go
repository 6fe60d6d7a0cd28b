package manifest

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/config/crd"
)

// schema is the part of a CRD's structural schema that our types use.
type schema struct {
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Properties  map[string]*schema `json:"properties"`
	Additional  *schema            `json:"additionalProperties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Enum        []any              `json:"enum"`
	Default     any                `json:"default"`
	Pattern     string             `json:"pattern"`
	MinLength   *int               `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	MinItems    *int               `json:"minItems"`
	MaxItems    *int               `json:"maxItems"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	IntOrString bool               `json:"x-kubernetes-int-or-string"`
	ListType    string             `json:"x-kubernetes-list-type"`
	ListMapKeys []string           `json:"x-kubernetes-list-map-keys"`
	Rules       []*celRule         `json:"x-kubernetes-validations"`

	pattern *regexp.Regexp
}

// objectMeta are the fields of metadata that the API server sets or takes beside
// those that are checked here.
var objectMeta = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// kinds are those that users write; the others are the operator's.
var kinds = []string{v1alpha1.KindServiceChain, v1alpha1.KindNetworkFunction}

// schemas are the schemas of our kinds, by kind.
var schemas = sync.OnceValues(func() (map[string]*schema, error) {
	out := map[string]*schema{}
	names, err := fs.Glob(crd.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := crd.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := addSchemas(out, data); err != nil {
			return nil, fmt.Errorf("CRD %s: %w", name, err)
		}
	}
	return out, nil
})

func addSchemas(out map[string]*schema, data []byte) error {
	var definition struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct{ OpenAPIV3Schema *schema }
			}
		}
	}
	if err := yaml.Unmarshal(data, &definition); err != nil {
		return err
	}
	if !slices.Contains(kinds, definition.Spec.Names.Kind) {
		return nil
	}
	for _, v := range definition.Spec.Versions {
		s := v.Schema.OpenAPIV3Schema
		s.Properties["metadata"] = metadataSchema()
		s.Required = append(s.Required, "metadata")
		if err := s.compile(); err != nil {
			return err
		}
		out[definition.Spec.Names.Kind] = s
	}
	return nil
}

func metadataSchema() *schema {
	limit := func(n int) *int { return &n }
	text := &schema{Type: "string"}
	s := &schema{Type: "object", Required: []string{"name"}, Properties: map[string]*schema{
		"name":        {Type: "string", MinLength: limit(1), MaxLength: limit(253), Pattern: `^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`},
		"namespace":   {Type: "string", MaxLength: limit(63), Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`},
		"labels":      {Type: "object", Additional: text},
		"annotations": {Type: "object", Additional: text},
	}}
	for _, name := range objectMeta {
		s.Properties[name] = &schema{}
	}
	return s
}

// compile prepares the patterns and CEL rules of the schema and those within it.
func (s *schema) compile() error {
	if s == nil {
		return nil
	}
	if s.Pattern != "" {
		var err error
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return err
		}
	}
	for _, r := range s.Rules {
		if err := r.compile(); err != nil {
			return err
		}
	}
	for _, p := range s.Properties {
		if err := p.compile(); err != nil {
			return err
		}
	}
	if err := s.Additional.compile(); err != nil {
		return err
	}
	return s.Items.compile()
}
