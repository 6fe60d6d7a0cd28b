package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/progress"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/validate"
)

func newValidate() *cobra.Command {
	var f chainFlags
	output := oneOf("text", "json", "yaml")
	cmd := &cobra.Command{
		Use:   "validate " + files,
		Short: "Check chains and network functions",
		Long: `Validate reads chains and network functions, checks them as the API server and the
compiler do, and says what is wrong: file, line, field, value, and what would be right.`,
		Args: argsBetween(1, unbounded),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.input.Paths = args
			bar := progress.Start(os.Stderr, f.progress, "synthesizing")
			r := validate.Files(f.input)
			bar.Stop()
			if output.value == "text" {
				warn(cmd.ErrOrStderr(), compile.Warnings(r.List()))
			}
			if err := output.print(cmd.OutOrStdout(), r, r.Text); err != nil {
				return err
			}
			if output.value == "text" {
				return r.List().Err()
			}
			return r.Err()
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().VarP(output, "output", "o", "what to print")
	return cmd
}
