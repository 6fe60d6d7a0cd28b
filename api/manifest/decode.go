package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sinter-nfv/sinter/api/finding"
)

const (
	maxDepth = 64
	// maxNodes bounds what anchors and aliases can blow a document up to.
	maxNodes = 2_000_000
)

// decoder turns the YAML nodes of one document into values as encoding/json makes
// them, checks them by a schema, and sets the defaults.
type decoder struct {
	doc      *document
	object   finding.Object
	findings finding.List
	nodes    int
}

func (d *decoder) fail(path string, line int, value, format string, args ...any) {
	d.findings = append(d.findings, finding.Finding{
		Object: d.object, File: d.doc.file, Line: line, Field: path, Value: value, Message: fmt.Sprintf(format, args...),
	})
}

// value is the node's value, nil if it has none (null) or a wrong one.
func (d *decoder) value(n *yaml.Node, s *schema, path string, line, depth int) any {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.nodes++; depth > maxDepth || d.nodes > maxNodes {
		if d.nodes != math.MaxInt {
			d.fail(path, line, "", "is nested too deeply or repeats too much by aliases")
		}
		d.nodes = math.MaxInt - 1 // say it once
		return nil
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	before := len(d.findings)
	var v any
	switch {
	case s.Type == "object":
		v = d.mapping(n, s, path, line, depth)
	case s.Type == "array":
		v = d.sequence(n, s, path, line, depth)
	case s.Type == "" && !s.IntOrString: // anything
		if err := n.Decode(&v); err != nil {
			d.fail(path, line, "", "%v", err)
		}
		return v
	default:
		v = d.scalar(n, s, path, line)
	}
	if len(d.findings) == before {
		d.checkRules(v, s, path, line)
	}
	if len(d.findings) > before {
		return nil
	}
	return v
}

func (d *decoder) checkRules(v any, s *schema, path string, line int) {
	for _, r := range s.Rules {
		if message := r.violated(v); message != "" {
			var text string
			switch v := v.(type) {
			case string:
				text = v
			case int64:
				text = strconv.FormatInt(v, 10)
			}
			d.fail(path, line, text, "%s", message)
		}
	}
}

func (d *decoder) mapping(n *yaml.Node, s *schema, path string, line, depth int) any {
	if n.Kind != yaml.MappingNode {
		d.fail(path, line, shown(n), "must be a mapping (name: value), not %s%s", kindOf(n), asMapping(n, s))
		return nil
	}
	out := map[string]any{}
	seen, meant := map[string]bool{}, map[string]bool{} // meant are fields that are there by a wrong name
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := join(path, key.Value)
		property := s.Properties[key.Value]
		if property == nil {
			property = s.Additional
		}
		switch {
		case seen[key.Value]:
			d.fail(at, key.Line, "", "the field is there twice; leave one out")
			continue
		case key.ShortTag() == "!!merge":
			d.fail(at, key.Line, "", "merge keys of YAML are not read here; write the fields out")
			continue
		case property == nil && (s.Properties != nil || depth == 0):
			known := slices.Collect(maps.Keys(s.Properties))
			d.fail(at, key.Line, "", "unknown field%s", finding.DidYouMean(key.Value, known))
			meant[finding.Nearest(key.Value, known)] = true
			continue
		case property == nil:
			property = &schema{}
		}
		seen[key.Value] = true
		d.doc.lines[at] = key.Line
		if v := d.value(value, property, at, key.Line, depth+1); v != nil {
			out[key.Value] = v
		}
	}
	for _, name := range s.Required {
		if meant[name] && !seen[name] {
			continue
		}
		if !seen[name] {
			d.fail(join(path, name), line, "", "is missing, and required")
		} else if out[name] == nil && !d.failedWithin(join(path, name)) {
			d.fail(join(path, name), d.doc.lines[join(path, name)], "", "is empty, and required")
		}
	}
	setDefaults(out, s)
	return out
}

// failedWithin tells whether something was found at the path or below.
func (d *decoder) failedWithin(path string) bool {
	return slices.ContainsFunc(d.findings, func(f finding.Finding) bool { return strings.HasPrefix(f.Field, path) })
}

func (d *decoder) sequence(n *yaml.Node, s *schema, path string, line, depth int) any {
	if n.Kind != yaml.SequenceNode {
		d.fail(path, line, shown(n), "must be a list, not %s%s", kindOf(n), asList(n))
		return nil
	}
	switch {
	case s.MinItems == nil || len(n.Content) >= *s.MinItems:
	case len(n.Content) == 0:
		d.fail(path, line, "", "is empty; give it at least %d, or leave it out if it is optional", *s.MinItems)
	default:
		d.fail(path, line, "", "must have at least %d entries, has %d", *s.MinItems, len(n.Content))
	}
	if s.MaxItems != nil && len(n.Content) > *s.MaxItems {
		d.fail(path, line, "", "must have at most %d entries, has %d", *s.MaxItems, len(n.Content))
	}
	out := make([]any, 0, len(n.Content))
	seen := map[string]int{}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.doc.lines[at] = item.Line
		v := d.value(item, s.Items, at, item.Line, depth+1)
		if v == nil {
			if item.ShortTag() == "!!null" {
				d.fail(at, item.Line, "", "is empty; leave it out or give it a value")
			}
			continue
		}
		out = append(out, v)
		d.checkUnique(seen, v, s, path, i, item.Line)
	}
	return out
}

// checkUnique finds two entries of a list with the same key.
func (d *decoder) checkUnique(seen map[string]int, v any, s *schema, path string, i, line int) {
	key, at := "", fmt.Sprintf("%s[%d]", path, i)
	switch s.ListType {
	case "set":
		key = fmt.Sprint(v)
	case "map":
		var parts []string
		for _, k := range s.ListMapKeys {
			parts = append(parts, fmt.Sprint(v.(map[string]any)[k]))
		}
		key, at = strings.Join(parts, ","), at+"."+s.ListMapKeys[0]
		if n, ok := d.doc.lines[at]; ok {
			line = n
		}
	default:
		return
	}
	if first, ok := seen[key]; ok {
		d.fail(at, line, key, "is there twice, first in %s[%d]; %s", path, first, apart(s))
		return
	}
	seen[key] = i
}

// apart says what to write in place of two entries with one key.
func apart(s *schema) string {
	if slices.Equal(s.ListMapKeys, []string{"prefix"}) {
		return "a prefix has one route and one next hop: leave one out, or write bySource in it for the packets of some sources"
	}
	return "entries must differ"
}

func (d *decoder) scalar(n *yaml.Node, s *schema, path string, line int) any {
	tag := n.ShortTag()
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(path, line, "", "must be %s, not %s%s", wanted(s), kindOf(n), asScalar(n))
	case s.IntOrString && tag == "!!int", s.Type == "integer" && tag == "!!int":
		return d.integer(n, s, path, line)
	case s.IntOrString && (tag == "!!str" || tag == "!!float"), s.Type == "string" && (tag == "!!str" || tag == "!!timestamp"):
		return d.text(n, s, path, line)
	case s.Type == "boolean" && tag == "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			d.fail(path, line, n.Value, "must be true or false")
			return nil
		}
		return b
	case s.Type == "string" && s.pattern != nil && !s.pattern.MatchString(n.Value): // quotes would not help
		d.fail(path, line, n.Value, "%s", s.violated(n.Value))
	case s.Type == "string" && len(s.Enum) > 0:
		d.fail(path, line, n.Value, "must be one of %s", strings.Join(texts(s.Enum), ", "))
	case s.Type == "string":
		d.fail(path, line, n.Value, "must be text, not %s; put it in quotes", kindOf(n))
	case s.Type == "integer" && tag == "!!float":
		d.fail(path, line, n.Value, "must be a whole number, without fraction or exponent%s", asInteger(n))
	default:
		d.fail(path, line, n.Value, "must be %s, not %s", wanted(s), kindOf(n))
	}
	return nil
}

func (d *decoder) integer(n *yaml.Node, s *schema, path string, line int) any {
	var v int64
	if err := n.Decode(&v); err != nil || s.Format != "int64" && s.Pattern != quantityPattern && v != int64(int32(v)) {
		d.fail(path, line, n.Value, "is too large a number")
		return nil
	}
	if plain := strconv.FormatInt(v, 10); n.Value != plain && n.Value != "+"+plain {
		d.fail(path, line, n.Value, "is %s to YAML; write %s if you mean that", plain, plain)
		return nil
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil && (float64(v) < *s.Minimum || float64(v) > *s.Maximum):
		d.fail(path, line, n.Value, "must be from %s to %s", number(*s.Minimum), number(*s.Maximum))
	case s.Minimum != nil && float64(v) < *s.Minimum:
		d.fail(path, line, n.Value, "must be at least %s", number(*s.Minimum))
	case s.Maximum != nil && float64(v) > *s.Maximum:
		d.fail(path, line, n.Value, "must be at most %s", number(*s.Maximum))
	}
	return v
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (d *decoder) text(n *yaml.Node, s *schema, path string, line int) any {
	length := utf8.RuneCountInString(n.Value)
	if n.Style&yaml.LiteralStyle != 0 && d.doc.blocks != nil {
		d.doc.blocks[path] = n.Line
	}
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(n.Value)):
		d.fail(path, line, n.Value, "%s", finding.NotOneOf(n.Value, texts(s.Enum)))
	case s.pattern != nil && !s.pattern.MatchString(n.Value):
		d.fail(path, line, n.Value, "%s", s.violated(n.Value))
	case s.MinLength != nil && length == 0 && *s.MinLength > 0:
		d.fail(path, line, "", "is empty; give it a value, or leave it out")
	case s.MinLength != nil && length < *s.MinLength:
		d.fail(path, line, n.Value, "must have at least %d characters", *s.MinLength)
	case s.MaxLength != nil && length > *s.MaxLength:
		d.fail(path, line, n.Value, "must have at most %d characters, has %d", *s.MaxLength, length)
	}
	return n.Value
}

// setDefaults sets what is not there, as the API server does.
func setDefaults(v map[string]any, s *schema) {
	for name, property := range s.Properties {
		if _, ok := v[name]; ok || property.Default == nil {
			continue
		}
		v[name] = normal(property.Default)
		if m, ok := v[name].(map[string]any); ok {
			setDefaults(m, property)
		}
	}
}

// normal copies a default, with integers as integers: JSON knows floats only.
func normal(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = normal(e)
		}
		return out
	}
	return v
}

// into fills a typed object with a value.
func into(v, object any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, object)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func wanted(s *schema) string {
	switch {
	case s.IntOrString:
		return "a number or text"
	case s.Type == "integer":
		return "a whole number"
	case s.Type == "boolean":
		return "true or false"
	}
	return "text"
}

func shown(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "text"
}
