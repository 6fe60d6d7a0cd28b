// Package chains has the chains with which an installation is tried, as dry runs.
package chains

import _ "embed"

// Good is a chain that is accepted.
//
//go:embed good.yaml
var Good []byte

// Bad is a chain whose fault only the webhook sees.
//
//go:embed bad.yaml
var Bad []byte

// Fault is what the webhook says of the bad chain.
const Fault = "no packet gets to this function"
