package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/compile"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/progress"
)

// chainFlags choose a chain among the files given.
type chainFlags struct {
	input    compile.Input // without its paths
	progress bool
}

func (f *chainFlags) add(flags *pflag.FlagSet) {
	addInput(flags, &f.input)
	flags.BoolVar(&f.progress, "progress", false, "report progress even if standard error is no terminal")
}

func addStores(flags *pflag.FlagSet, urls *[]string) {
	flags.StringArrayVar(urls, "store", nil, "URL with which those of objects begin that chains may read routes from, such as https://routes.example.net/tables/; repeatable")
}

// addInput adds the flags of all commands that read chains.
func addInput(flags *pflag.FlagSet, in *compile.Input) {
	flags.StringVar(&in.Chain, "chain", "", "name of the chain, if the files hold several")
	addStores(flags, &in.Stores)
	flags.StringArrayVar(&in.FilesBelow, "files-below", nil, "folder below which manifests may name files of rules and routes, beside their own folders; repeatable")
}

// compile compiles the chain of the files and prints what there is to warn of.
func (f *chainFlags) compile(cmd *cobra.Command, paths []string) (*compile.Chain, error) {
	bar := progress.Start(os.Stderr, f.progress, "synthesizing")
	f.input.Paths = paths
	c, err := compile.Files(f.input)
	bar.Stop()
	if err != nil {
		return nil, err
	}
	warn(cmd.ErrOrStderr(), c.Warnings())
	return c, nil
}

func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w, "warning:", text)
	}
}

// files is the usage of the arguments of commands that read chains.
const files = "<file or folder>..."
