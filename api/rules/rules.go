// Package rules reads the text in which users write packets down (addresses,
// ports, flags, whole matches) and files of rules and routes. It is pure: what
// to read is handed in.
package rules

import (
	"net/netip"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Rule is one rule of a file.
type Rule struct {
	// Line of the file, counted from 1.
	Line int
	Name string
	// From is the side by which the packet came in; empty: both.
	From v1alpha1.Side
	// Action of the rule; empty: the file's format has none.
	Action v1alpha1.Action
	Filter headerspace.Filter
}

// Problem is something wrong with what the user wrote.
type Problem struct {
	// Field is the part of a match that it is about ("source[0]"), or a file's column.
	Field string
	Value string
	// Message says what is wrong and what would be right.
	Message string
	// Warning: it can be read all the same.
	Warning bool
	// Line of the file, if it is about one.
	Line int
}

// Source names a file of rules and how it is read.
type Source struct {
	File   string
	Format v1alpha1.RuleFormat
}

// Files is the content of the files and ConfigMaps that functions refer to.
type Files struct {
	Rules    map[Source][]Rule
	Prefixes map[string][]netip.Prefix
	// Inspections are rules for payloads.
	Inspections map[string][]Inspection
	// Versions are those of Prefixes that a memory read.
	Versions map[string]Version[netip.Prefix]
	// Memory has texts as they were read last, and keeps these; nil: each is read as a whole.
	Memory *Memory
}

// AddRules reads a text of rules and keeps them under its source.
func (f *Files) AddRules(s Source, text []byte) []Problem {
	list, problems := f.readRules(s, text)
	if f.Rules == nil {
		f.Rules = map[Source][]Rule{}
	}
	f.Rules[s] = list
	return problems
}

func (f *Files) readRules(s Source, text []byte) ([]Rule, []Problem) {
	switch {
	case s.Format == v1alpha1.FormatCSV:
		return CSV(text)
	case f.Memory != nil:
		return f.Memory.readRules(s, text)
	}
	return ClassBench(text)
}

// AddInspections reads a text of rules for payloads and keeps them under its name.
func (f *Files) AddInspections(name string, text []byte) []Problem {
	list, problems := Suricata(text)
	if f.Inspections == nil {
		f.Inspections = map[string][]Inspection{}
	}
	f.Inspections[name] = list
	return problems
}

// AddPrefixes reads a text of prefixes and keeps them under its name.
func (f *Files) AddPrefixes(name string, text []byte) []Problem {
	return f.AddPrefixesAt(name, name, text)
}

// AddPrefixesAt is AddPrefixes of a text that comes in the place of another one with another name: the memory has them as versions of one text.
func (f *Files) AddPrefixesAt(place, name string, text []byte) []Problem {
	list, version, problems := f.readPrefixes(place, text)
	if f.Memory != nil {
		if f.Versions == nil {
			f.Versions = map[string]Version[netip.Prefix]{}
		}
		f.Versions[name] = version
	}
	if f.Prefixes == nil {
		f.Prefixes = map[string][]netip.Prefix{}
	}
	f.Prefixes[name] = list
	return problems
}

func (f *Files) readPrefixes(place string, text []byte) ([]netip.Prefix, Version[netip.Prefix], []Problem) {
	if f.Memory != nil {
		return readAgain(f.Memory, &f.Memory.prefixes, place, text, prefixFormat)
	}
	list, problems := Prefixes(text)
	return list, Version[netip.Prefix]{}, problems
}
