package lower

import (
	"net/netip"
	"slices"
)

// Behind is what lies behind a function's port, up to routers.
type Behind struct {
	Interfaces []*Interface
	Routers    []*Function
	// Between are functions up to those.
	Between []*Function
	// Translated are the addresses outside of functions that translate.
	Translated []TranslatedPrefix
	// Unforeseen says that a function lies in between of which only its elements tell what it does.
	Unforeseen bool
}

// TranslatedPrefix is a part of the addresses outside of a function, by its name.
type TranslatedPrefix struct {
	Prefix netip.Prefix
	Of     string
}

// Behind is what lies behind a port.
func (b *Builder) Behind(p Port) Behind {
	var out Behind
	b.walk(p, func(to Port, f *Function) []string {
		if f == nil {
			out.Interfaces = append(out.Interfaces, b.FindInterface(to.Owner))
			return nil
		}
		if f.Router() != nil {
			if !slices.Contains(out.Routers, f) {
				out.Routers = append(out.Routers, f)
			}
			return nil
		}
		if !slices.Contains(out.Between, f) {
			out.Between = append(out.Between, f)
		}
		out.Unforeseen = out.Unforeseen || f.Kind.Traits().Unforeseen
		outs, prefixes := f.Kind.Translated(f, to.Name)
		for _, p := range prefixes {
			out.Translated = append(out.Translated, TranslatedPrefix{p, f.Name})
		}
		return outs
	})
	return out
}
