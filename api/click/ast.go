package click

// scope is what stands between braces, or at the top: a configuration, or the inside of a compound element.
type scope struct {
	params     []parameter
	statements []statement
}

// parameter is one of a compound element: "$name", or "KEYWORD $name". The keyword __REST__ takes all further arguments.
type parameter struct {
	keyword, name string
	pos           Pos
}

const rest = "__REST__"

// statement is one of the members; the others are zero.
type statement struct {
	define  []rich // arguments of a define
	class   *classStatement
	connect []link // a declaration is a connection of one list
}

// classStatement is "elementclass name {...}", or "elementclass name class".
type classStatement struct {
	name string
	pos  Pos
	of   class
}

// class is a name, or a compound element.
type class struct {
	name     string
	compound *scope
	pos      Pos
}

// link is a list of ends, and how it is connected to the list behind it.
type link struct {
	ends []listed
	// to is the arrow behind: arrow, doubleArrow, or end for the last list.
	to  kind
	pos Pos
}

// listed is an element in a list of a connection: [in] name :: class(config) [out]. What is missing is zero. An element without name and class
// is the compound element's input or output.
type listed struct {
	in, out []portNumber
	name    string
	class   *class // of a declaration, or of an element without a name
	group   *scope // an element group: its elements belong to the scope around it
	config  *rich
	pos     Pos
}

type portNumber struct {
	n   int
	pos Pos
}
