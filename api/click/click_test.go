package click_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/api/click"
)

// dump is a configuration as text: an element or a connection each line.
func dump(c *click.Config) string {
	var b strings.Builder
	for i := range c.Elements {
		e := &c.Elements[i]
		var args []string
		for _, a := range e.Args {
			args = append(args, a.Text)
		}
		fmt.Fprintf(&b, "%s(%s)\n", e, strings.Join(args, "|"))
	}
	for _, k := range c.Connections {
		fmt.Fprintf(&b, "%s[%d]->[%d]%s\n", c.Elements[k.From].Name, k.FromPort, k.ToPort, c.Elements[k.To].Name)
	}
	return b.String()
}

// expanded is a text and what it is built from after expansion; none: it does not parse.
type expanded struct{ text, want string }

// connectionCases are declarations, connections and arguments.
var connectionCases = map[string]expanded{
	"a declaration and a connection": {
		"a :: A(1, 2); b :: B; a [1] -> [2] b;",
		"a :: A(1|2)\nb :: B()\na[1]->[2]b\n",
	},
	"several names of one class": {"a, b :: A(x)", "a :: A(x)\nb :: A(x)\n"},
	"semicolons that are left out": {
		"a :: A\nb :: B\na -> b\nb -> a",
		"a :: A()\nb :: B()\na[0]->[0]b\nb[0]->[0]a\n",
	},
	"elements without names, and chains of connections": {
		"x :: X; x [1] -> Strip(14) -> [2] y :: Y [3] -> Discard",
		"x :: X()\ny :: Y()\nStrip@1 :: Strip(14)\nDiscard@2 :: Discard()\nx[1]->[0]Strip@1\nStrip@1[0]->[2]y\ny[3]->[0]Discard@2\n",
	},
	"names that are declared below": {"a -> b; a :: A; b :: B", "a :: A()\nb :: B()\na[0]->[0]b\n"},
	"many to one, and one to many": {
		"a, b, c, d :: A; a, b[2] -> [1]c; c -> a, [3]d",
		"a :: A()\nb :: A()\nc :: A()\nd :: A()\na[0]->[1]c\nb[2]->[1]c\nc[0]->[0]a\nc[0]->[3]d\n",
	},
	"many to many, by ports that are counted": {
		"c :: C; x :: X; c => Paint(0), Paint(1) -> x",
		"c :: C()\nx :: X()\nPaint@1 :: Paint(0)\nPaint@2 :: Paint(1)\nc[0]->[0]Paint@1\nc[1]->[0]Paint@2\nPaint@1[0]->[0]x\nPaint@2[0]->[0]x\n",
	},
	"many to many, by lists and ranges of ports": {
		"a, b :: A; a [0,2-3] => [1-2,0] b",
		"a :: A()\nb :: A()\na[0]->[1]b\na[2]->[2]b\na[3]->[0]b\n",
	},
	"a connection that is there twice is one": {"a, b :: A; a -> b; a -> b", "a :: A()\nb :: A()\na[0]->[0]b\n"},
	"comments and line markers": {
		"# 1 \"file\"\n// one\na :: A(1 /* two */, // three, four\n 2); # is no comment here\n",
		"",
	},
	"a comment within arguments is white space": {"a :: A(1 /* x, y */, // z\n 2)", "a :: A(1|2)\n"},
	"quotes and parentheses within arguments": {
		`a :: A("a, b)", f(x, y), 'c//', \<01 02>)`, `a :: A("a, b)"|f(x, y)|'c//'|\<01 02>)` + "\n",
	},
}

// compoundCases are texts that stand for others.
var compoundCases = map[string]expanded{
	"a compound element": {
		"a, b :: A; a -> c :: { input -> x :: X -> output } -> b",
		"a :: A()\nb :: A()\nc/x :: X()\nc/x[0]->[0]b\na[0]->[0]c/x\n",
	},
	"a compound element without a name, with sides that are not named": {
		"a, b :: A; a => { [0] -> X -> [0]; -> Y -> } -> b; ",
		"a :: A()\nb :: A()\n@1/X@2 :: X()\n@1/Y@3 :: Y()\n@1/X@2[0]->[0]b\n@1/Y@3[0]->[0]b\na[0]->[0]@1/X@2\na[0]->[0]@1/Y@3\n",
	},
	"a compound element with several ports": {
		"a, b :: A; c :: { input[0] -> X -> [1]output; input[1] -> Y -> [0]output }; a -> [1]c[0] -> b; b -> c; c[1] -> a",
		"a :: A()\nb :: A()\nc/X@1 :: X()\nc/Y@2 :: Y()\nc/X@1[0]->[0]a\nc/Y@2[0]->[0]b\na[0]->[0]c/Y@2\nb[0]->[0]c/X@1\n",
	},
	"an elementclass with parameters": {
		"elementclass Dev { $name, BURST $b | input -> ToDevice($name, BURST ${b}) }; X -> Dev(eth0, BURST 32)",
		"X@1 :: X()\nDev@2/ToDevice@3 :: ToDevice(eth0|BURST 32)\nX@1[0]->[0]Dev@2/ToDevice@3\n",
	},
	"an elementclass that takes all further arguments": {
		"elementclass C { $a, __REST__ $r | input -> IPClassifier($a, $r) -> output }; X -> C(tcp, udp, icmp) -> Y",
		"X@1 :: X()\nC@2/IPClassifier@3 :: IPClassifier(tcp|udp|icmp)\nY@4 :: Y()\nC@2/IPClassifier@3[0]->[0]Y@4\nX@1[0]->[0]C@2/IPClassifier@3\n",
	},
	"an elementclass that hides one of its name": {
		"elementclass Queue { input -> Queue(7) -> Shaper(1) -> output } X -> Queue -> Y",
		"X@1 :: X()\nQueue@2/Queue@3 :: Queue(7)\nQueue@2/Shaper@4 :: Shaper(1)\nY@5 :: Y()\n" +
			"Queue@2/Queue@3[0]->[0]Queue@2/Shaper@4\nQueue@2/Shaper@4[0]->[0]Y@5\nX@1[0]->[0]Queue@2/Queue@3\n",
	},
	"a synonym": {"elementclass Q Queue; q :: Q(5)", "q :: Queue(5)\n"},
	"parameters of the whole text": {
		"define($dev eth0, $n 3); a :: A($dev, ${n}0, '$n', ${m-9}, $dev.$n)",
		"a :: A(eth0|30|'$n'|9|eth0.3)\n",
	},
	"parameters that refer to other ones": {"define($a 1); define($b $a$a); x :: X($b)", "x :: X(11)\n"},
	"an element group": {
		"x, y, c :: A; x -> c => ( input[0] -> output; [1] -> Paint(1) -> output ) -> y",
		"x :: A()\ny :: A()\nc :: A()\nPaint@1 :: Paint(1)\nx[0]->[0]c\nPaint@1[0]->[0]y\nc[0]->[0]y\nc[1]->[0]Paint@1\n",
	},
	"compound elements within each other": {
		"elementclass In { $p | input -> X($p) -> output }; elementclass Out { $q | input -> In($q) -> In(2) -> output } a :: A; a -> o :: Out(1) -> a",
		"a :: A()\no/In@1/X@2 :: X(1)\no/In@3/X@4 :: X(2)\no/In@1/X@2[0]->[0]o/In@3/X@4\no/In@3/X@4[0]->[0]a\na[0]->[0]o/In@1/X@2\n",
	},
	"require and provide say nothing": {"require(package \"x\"); provide(y); a :: A", "a :: A()\n"},
	"names with slashes and at-signs": {"a/b@2 :: A", "a/b@2 :: A()\n"},
	"an empty text":                   {"// nothing\n", ""},
}

func TestConfigurationsAreExpandedAsClicksManualSays(t *testing.T) {
	cases := maps.Clone(connectionCases)
	maps.Copy(cases, compoundCases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := click.Parse(c.text)
			if c.want == "" && name != "an empty text" {
				if got != nil {
					t.Errorf("nothing is wrong with it:\n%s", dump(got))
				}
				return
			}
			if got == nil {
				t.Fatalf("does not parse: %v", problems)
			}
			if d := dump(got); d != c.want {
				t.Errorf("got\n%swant\n%s", d, c.want)
			}
		})
	}
}

func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown element":       {"a :: A;\nc1 :: C;\na -> c2", `3:6 "c2": no element of this name is declared here; did you mean "c1"?`},
		"a name that is taken":     {"a :: A;\na :: B", `2:1 "a": the name is taken by the element of line 1; elements need names of their own`},
		"a missing parenthesis":    {"a :: A(1,\n2", `1:7 "(": the configuration does not end; a ")" is missing`},
		"a missing brace":          {"a :: { input -> output", `1:23 "": the text ends within braces or parentheses; a '}' is missing`},
		"a comment without end":    {"a :: A /* x", `1:8 "/*": the comment does not end; write */ behind it`},
		"an overloaded compound":   {"a :: { input -> output || input -> output }", `1:24 "||": overloaded compound elements are not known; give each definition a name of its own by elementclass`},
		"a port that is no number": {"a :: A; a [x] -> a", `1:12 "x": not the number of a port; write one from 0 to 1023`},
		"a port that is too large": {"a :: A; a [1024] -> a", `1:12 "1024": not the number of a port; write one from 0 to 1023`},
		"ranges that are reversed": {"a :: A; a [3-1] => a", `1:12 "": the range of ports 3-1 is reversed; write 1-3`},
		"lists of different sizes": {"a, b :: A; a[0-2] => [0-1]b", `1:22 "=>": 3 outputs cannot be connected to 2 inputs one by one; list as many on both sides`},
		"lists with one arrow":     {"a, b, c, d :: A; a, b -> c, d", `1:26 "->": connects several outputs to several inputs; write => to connect them one by one`},
		"a side at the top":        {"a :: A; input -> a", `1:9 "input": is the side of a compound element, and this is none; name a device: FromDevice(name) or ToDevice(name)`},
		"a side from within": {
			"a :: A; c :: { a2 :: A -> output; a2[1] -> input }; a -> c",
			`1:44 "input": nothing can be connected to a compound element's input from within; use output`,
		},
		"an input that the compound has not": {
			"a :: A; c :: { input -> output }; a -> [1] c -> a",
			`1:9 "c": has no input 1, and something is connected to it; use input[1] within it`,
		},
		"too few arguments": {"elementclass C { $a, $b | input -> output }\nX -> C(1) -> Y", `2:6 "C@2": needs 2 arguments for $a, $b, has 1`},
		"too many arguments": {
			"elementclass C { $a | input -> output }\nX -> C(1,  2) -> Y",
			`2:12 "2": C@2 takes no such argument; its parameters are $a`,
		},
		"a keyword that is missing":   {"elementclass C { COUNT $a | input -> output }\nX -> C(1) -> Y", `2:6 "C@2": has no argument COUNT; write COUNT and its value`},
		"a define without a name":     {"define(x 5)", `1:8 "x": not a parameter; write define($name value)`},
		"a define of what is unknown": {"define($x $y)", `1:8 "$y": no parameter of this name is defined here; write define($y value) before`},
		"a class from a parameter":    {"a :: $c", `1:6 "$c": a class that a parameter names is not known; write the class`},
		"a preprocessor":              {"#include \"x\"\na :: A", `1:1 "#include \"x\"": preprocessor directives are not known; run the preprocessor first, or write define(...) and elementclass`},
		"synonyms in a circle":        {"elementclass A { input -> A -> output } a :: A -> a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := click.Parse(c.text)
			if c.want == "" {
				return // to end is enough
			}
			if len(problems) == 0 {
				t.Fatal("nothing is found")
			}
			p := problems[0]
			if got := fmt.Sprintf("%s %q: %s", p.Pos, p.Value, p.Message); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHostileTextsEnd: what a text expands to has bounds.
func TestHostileTextsEnd(t *testing.T) {
	doubling := "elementclass C0 { input -> Null -> output }\n"
	for i := range 12 {
		doubling += fmt.Sprintf("elementclass C%d { input -> C%d -> C%d -> output }\n", i+1, i, i)
	}
	long := "define($a0 xxxxxxxxxxxxxxxx)\n"
	for i := range 40 {
		long += fmt.Sprintf("define($a%d $a%d$a%d)\n", i+1, i, i)
	}
	sides := "x :: X\n"
	for i := range 200 {
		sides += fmt.Sprintf("x[%d] -> c; ", i)
	}
	sides += "c :: { "
	for range 200 {
		sides += "input -> X -> output; "
	}
	sides += "} -> Discard"
	for name, c := range map[string]struct{ text, want string }{
		"compound elements that double":      {doubling + "X -> C12 -> Y", "expands to more than 4096 elements"},
		"parameters that double":             {long, "gets longer than"},
		"braces within each other":           {strings.Repeat("a :: {", 1000), "nested more than 24 deep"},
		"parentheses within each other":      {"x -> " + strings.Repeat("(", 1000), "nested more than 24 deep"},
		"a text that is too long":            {strings.Repeat(" ", click.MaxText+1), "too long"},
		"connections that multiply":          {sides, "more than 16384 connections"},
		"element classes without number":     {strings.Repeat("elementclass A { input -> output }\n", 300), ""},
		"many errors are said up to a bound": {strings.Repeat("x y;", 1000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			config, problems := click.Parse(c.text)
			if c.want != "" && (config != nil || !strings.Contains(problems[0].Message, c.want)) {
				t.Errorf("found %v, want %q", problems, c.want)
			}
			if len(problems) > 50 {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a :: A(1, $x) -> b :: B; define($x 2)", "elementclass C { $a, K $b, __REST__ $c | input => X($a)[1] -> output }; a -> C(1, K 2, 3) -> b",
		"x -> ( [0] -> [0]; [1] -> Y -> [1] ) => z", "# 1 \"x\"\n/* c */ a, b :: { -> }", `a :: A("x\"", 'y', \<01>, ${a-b})`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, problems := click.Parse(text)
		if c == nil {
			if len(problems) == 0 {
				t.Error("no configuration, and nothing is wrong")
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		names := map[string]bool{}
		for i := range c.Elements {
			e := &c.Elements[i]
			if names[e.Name] || e.Name == "" || e.Class == "" {
				t.Errorf("element %q of class %q", e.Name, e.Class)
			}
			names[e.Name] = true
			for _, a := range e.Args {
				if p := a.At(len(a.Text)); p.Line < 1 || p.Line > lines || a.Pos.Column < 1 {
					t.Errorf("argument %q is at %s of %d lines", a.Text, p, lines)
				}
			}
		}
		for _, k := range c.Connections {
			if max(k.From, k.To) >= len(c.Elements) || min(k.From, k.To, k.FromPort, k.ToPort) < 0 {
				t.Errorf("connection %+v of %d elements", k, len(c.Elements))
			}
		}
	})
}
