package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/bench"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/connectivity"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/explain"
	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/validate"
	"github.com/sinter-nfv/sinter/dataplane/flows"
)

// Whoever writes a script goes by docs/cli.md, which has a table of fields for each of these.
func TestFieldsOfTheJSONAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, printed := range map[string]any{
		"## Findings of validate":          validate.Report{},
		"## Result of bench":               bench.Result{},
		"### Stories of explain":           explain.Story{},
		"### Lists for scripts":            flows.Tops{},
		"#### Result of connectivity-test": connectivity.Report{},
	} {
		t.Run(heading, func(t *testing.T) {
			documented, printed := documentedFields(string(text), heading), fields("", reflect.TypeOf(printed))
			slices.Sort(documented)
			slices.Sort(printed)
			if !slices.Equal(documented, printed) {
				t.Errorf("documented are\n%q\nprinted are\n%q", documented, printed)
			}
		})
	}
}

// documentedFields are those in the first column of the tables below a heading, up to the next.
func documentedFields(page, heading string) (list []string) {
	_, section, _ := strings.Cut(page, "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	field := regexp.MustCompile("`([^`]+)`(°?)")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && cells[0] == "" {
			for _, m := range field.FindAllStringSubmatch(cells[1], -1) {
				list = append(list, m[1]+m[2])
			}
		}
	}
	return list
}

// fields are the paths of what a struct has in JSON, marked if they may be absent.
func fields(before string, s reflect.Type) (list []string) {
	for i := range s.NumField() {
		name, options, ok := strings.Cut(s.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		name = before + name
		mark := ""
		if ok && strings.HasPrefix(options, "omit") {
			mark = "°"
		}
		switch kind := s.Field(i).Type; {
		case kind.Kind() == reflect.Struct && kind.PkgPath() == "": // without a name of its own
			list = append(list, fields(name+".", kind)...)
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
			list = append(append(list, name+"[]"+mark), fields(name+"[].", kind.Elem())...)
		default:
			list = append(list, name+mark)
		}
	}
	return list
}
