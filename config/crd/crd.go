// Package crd holds the generated CustomResourceDefinitions, which are also the
// schema that files of sinterctl are read by.
package crd

import "embed"

// Files is the definitions, one YAML file per kind.
//
//go:embed *.yaml
var Files embed.FS
