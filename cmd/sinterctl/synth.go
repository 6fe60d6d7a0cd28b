package main

import (
	"bytes"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/classes"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/dot"
)

func newSynth() *cobra.Command {
	var f chainFlags
	output := oneOf("table", "json", "yaml", "dot", "svg", "program")
	cmd := &cobra.Command{
		Use:   "synth " + files,
		Short: "Synthesize a chain and show its packet program",
		Long: `Synth compiles a chain and prints the packet program: as a table of its traffic classes, as
JSON or YAML, as a picture of the chain and the program side by side (dot: in Graphviz's language;
svg: drawn by Graphviz, which must be installed), or in the encoding that the engine reads (program).`,
		Args: argsBetween(1, unbounded),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.compile(cmd, args)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch output.value {
			case "json":
				return writeJSON(w, classes.List(c))
			case "yaml":
				return writeYAML(w, classes.List(c))
			case "dot":
				return dot.SideBySide(w, c.Graph, c.Result.Program)
			case "svg":
				return svg(cmd, c)
			case "program":
				_, err := w.Write(c.Encoded)
				return err
			default:
				l := classes.Brief(c)
				l.Warnings = nil // said already
				return l.Text(w)
			}
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().VarP(output, "output", "o", "what to print")
	return cmd
}

func svg(cmd *cobra.Command, c *compile.Chain) error {
	var text, errs bytes.Buffer
	if err := dot.SideBySide(&text, c.Graph, c.Result.Program); err != nil {
		return err
	}
	draw := exec.CommandContext(cmd.Context(), "dot", "-Tsvg")
	draw.Stdin, draw.Stdout, draw.Stderr = &text, cmd.OutOrStdout(), &errs
	if err := draw.Run(); err != nil {
		return fmt.Errorf("draw with Graphviz (package graphviz): %w %s", err, errs.Bytes())
	}
	return nil
}
