package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sinter-nfv/sinter/api/finding"
)

// flagError says what is wrong with a flag, and what would be right, in the place of pflag's words, which are those of Go's parsers.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		if want := wanted(f.Value.Type()); want != "" {
			return fmt.Errorf("--%s %q: want %s", f.Name, value.GetValue(), want)
		}
		return fmt.Errorf("--%s %q: %w", f.Name, value.GetValue(), value.Unwrap())
	case errors.As(err, &missing):
		return fmt.Errorf("--%s has no value: %s", missing.GetFlag().Name, missing.GetFlag().Usage)
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		return fmt.Errorf("unknown flag %s%s", name, finding.DidYouMean(name, known))
	}
	return err
}

// wanted says what values a type of flag has; empty: the flag's own parser says it.
func wanted(kind string) string {
	for name, most := range map[string]uint64{"uint8": math.MaxUint8, "uint16": math.MaxUint16, "uint32": math.MaxUint32} {
		if kind == name {
			return fmt.Sprintf("a whole number from 0 to %d", most)
		}
	}
	switch kind {
	case "uint", "uint64":
		return "a whole number that is not negative"
	case "int", "int32", "int64":
		return "a whole number"
	case "duration":
		return "a time with its unit, such as 500ms, 10s or 1m30s"
	case "bool":
		return "true or false"
	}
	return ""
}

// flagsFit tells flags that are missing, or that exclude each other.
func flagsFit(cmd *cobra.Command) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			missing = append(missing, fmt.Sprintf("--%s is missing: %s", f.Name, f.Usage))
		}
	})
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}
	return cmd.ValidateFlagGroups()
}
