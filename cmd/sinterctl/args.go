package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// operand is an argument in a command's usage line: <one>, or (this | that).
var operand = regexp.MustCompile(`\([^)]+\)|<[^>]+>`)

// unbounded arguments may be given to a command.
const unbounded = -1

// argsBetween refuses fewer arguments than least and more than most. It names those of the usage line that are missing.
func argsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if names := operand.FindAllString(cmd.Use, -1); len(args) < least {
			missing := names[len(args):least]
			if len(missing) == 1 {
				return fmt.Errorf("%s is missing", missing[0])
			}
			return fmt.Errorf("%s are missing", strings.Join(missing, " and "))
		}
		if most != unbounded && len(args) > most {
			return fmt.Errorf("%q is one argument too many", args[most])
		}
		return nil
	}
}

// pathsBetween is argsBetween for what stands before "--".
func pathsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		paths, _ := splitDash(cmd, args)
		return argsBetween(least, most)(cmd, paths)
	}
}
