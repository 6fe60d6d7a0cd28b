// Package examples has programs next to the bounds of the rules of NAPTs: the sample of package ruletest, changed.
package examples

import "slices"

// Programs are with limits of subscribers, or with fixed translations.
var Programs = slices.Concat(subscribers, translations)
