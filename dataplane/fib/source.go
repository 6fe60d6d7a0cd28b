package fib

// Source is what routes are built from where they do not come with the program: by whoever has the texts, with one result.
type Source struct {
	Numbers []uint16 // of next hops, by origin
	Own     []Route  // those that are in none of the texts
	Texts   []Text
}

// Text is an object of a store with prefixes, one per line.
type Text struct {
	URL    string
	SHA256 string // of the object as it is stored, in hexadecimal
	Origin uint16 // of its routes
}
