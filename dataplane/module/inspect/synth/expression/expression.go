// Package expression writes regular expressions in the few constructs that mean the same to all that read them: \xHH, classes of
// these, (?:…), |, *, +, ?, {n,m}, \A and \z. A character is a byte.
package expression

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// OfText matches a text. noCase: letters A to Z and a to z are the same.
func OfText(text []byte, noCase bool) string {
	var b strings.Builder
	for _, c := range text {
		if lower := c | 0x20; noCase && lower >= 'a' && lower <= 'z' {
			fmt.Fprintf(&b, `[\x%02x\x%02x]`, lower&^0x20, lower)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// OfRegex matches what a regular expression of Go's package regexp does. Package rules has checked it.
func OfRegex(regex string) string {
	tree, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("regular expression %q, which was checked: %v", regex, err))
	}
	var b strings.Builder
	write(&b, tree)
	return b.String()
}

func write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		literal(b, re)
	case syntax.OpCharClass:
		class(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		class(b, []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpAnyChar:
		class(b, []rune{0, unicode.MaxRune})
	case syntax.OpBeginText:
		b.WriteString(`\A`)
	case syntax.OpEndText:
		b.WriteString(`\z`)
	case syntax.OpCapture:
		write(b, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		group(b, re.Sub[:1], "")
		b.WriteString(times(re))
	case syntax.OpConcat:
		for _, s := range re.Sub {
			write(b, s)
		}
	case syntax.OpAlternate:
		group(b, re.Sub, "|")
	case syntax.OpEmptyMatch:
		b.WriteString("(?:)")
	default:
		panic(fmt.Sprintf("regular expression with %s, which was checked", re.Op))
	}
}

func group(b *strings.Builder, parts []*syntax.Regexp, between string) {
	b.WriteString("(?:")
	for i, p := range parts {
		if i > 0 {
			b.WriteString(between)
		}
		write(b, p)
	}
	b.WriteString(")")
}

func times(re *syntax.Regexp) string {
	switch {
	case re.Op == syntax.OpStar:
		return "*"
	case re.Op == syntax.OpPlus:
		return "+"
	case re.Op == syntax.OpQuest:
		return "?"
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}

// literal writes characters, with those that are the same but for case.
func literal(b *strings.Builder, re *syntax.Regexp) {
	for _, r := range re.Rune {
		ranges := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
				ranges = append(ranges, o, o)
			}
		}
		class(b, ranges)
	}
}

// class writes the bytes of pairs of first and last.
func class(b *strings.Builder, ranges []rune) {
	var bytes []string
	for i := 0; i < len(ranges); i += 2 {
		switch lo, hi := ranges[i], min(ranges[i+1], 0xff); {
		case lo > hi:
		case lo == hi:
			bytes = append(bytes, fmt.Sprintf(`\x%02x`, lo))
		default:
			bytes = append(bytes, fmt.Sprintf(`\x%02x-\x%02x`, lo, hi))
		}
	}
	if len(bytes) == 1 && ranges[0] == ranges[1] {
		b.WriteString(bytes[0])
		return
	}
	b.WriteString("[" + strings.Join(bytes, "") + "]")
}
