package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
)

func newValidate() *cobra.Command {
	var f chainFlags
	cmd := &cobra.Command{
		Use:   "validate " + files,
		Short: "Check chains and network functions",
		Long: `Validate reads chains and network functions, checks them as the API server and the
compiler do, and says what is wrong: file, line, field, value, and what would be right.`,
		Args: argsBetween(1, unbounded),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := []string{f.input.Chain}
			if f.input.Chain == "" {
				f.input.Paths = args
				var err error
				if names, err = compile.Names(f.input); err != nil {
					return err
				}
			}
			var errs []error
			for _, name := range names {
				f.input.Chain = name
				c, err := f.compile(cmd, args)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "chain %s is valid: %s, %s, %s\n", c.Graph.Chain,
					describe.Count(len(c.Graph.Interfaces), "interface"), describe.Count(len(c.Graph.Nodes), "element"), describe.Count(len(c.Warnings), "warning"))
			}
			return errors.Join(errs...)
		},
	}
	f.add(cmd.Flags())
	return cmd
}
