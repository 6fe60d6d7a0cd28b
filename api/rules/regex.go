package rules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxRegexSize is how large a regular expression may be: in instructions of Go's matcher. What is larger takes long to be compiled.
const maxRegexSize = 4000

// notRegex tells where a text is no regular expression.
func notRegex(err error) string {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return fmt.Sprintf("not a regular expression (RE2): %s in %s", e.Code, e.Expr)
	}
	return fmt.Sprintf("not a regular expression (RE2): %v", err)
}

// CheckRegex says what is wrong with a regular expression over bytes; empty: nothing. It is in the syntax of Go's package regexp,
// as far as streams of bytes can be matched with it.
func CheckRegex(text string) (message string) {
	for _, c := range text {
		if c > '~' || c < ' ' {
			return fmt.Sprintf(`has the character %q; write bytes beyond printable ASCII like \xe9`, c)
		}
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return notRegex(err)
	}
	if message := checkTree(tree, true); message != "" {
		return message
	}
	compiled, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return notRegex(err)
	}
	if n := len(compiled.Inst); n > maxRegexSize {
		return fmt.Sprintf("is too large (%d steps of %d); repeat less", n, maxRegexSize)
	}
	if regexp.MustCompile(text).MatchString("") {
		return "matches an empty payload, so each packet; ask for at least one byte"
	}
	return ""
}

// checkTree refuses what depends on what follows, or is no byte. first: nothing stands before.
func checkTree(re *syntax.Regexp, first bool) string {
	switch re.Op {
	case syntax.OpEndText, syntax.OpEndLine, syntax.OpBeginLine:
		return "$ and lines are not matched; leave $ and the flag m out"
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return `\b and \B are not matched; write the bytes that may stand there`
	case syntax.OpBeginText:
		if !first {
			return "^ may stand at the beginning alone"
		}
	case syntax.OpNoMatch:
		return "matches nothing"
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r > 0xff {
				return fmt.Sprintf("%q is no byte", r)
			}
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 || re.Rune[0] > 0xff {
			return "a class has no byte, and matches nothing"
		}
	default:
	}
	for i, s := range re.Sub {
		if message := checkTree(s, first && (i == 0 && re.Op == syntax.OpConcat || re.Op == syntax.OpCapture)); message != "" {
			return message
		}
	}
	return ""
}
