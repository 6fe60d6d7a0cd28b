package trees

import "github.com/sinter-nfv/sinter/dataplane/program/programpb"

// maxFront is how many ranges of destinations a FIB's trie takes in front of its own.
const maxFront = 4096

// viewsFIB tells whether a table becomes a view of a FIB's trie: it reads nothing but destinations and what the FIB says of them, and after ranges of
// destinations alone it says the same of all destinations.
func viewsFIB(t *programpb.Table) bool {
	for _, f := range t.GetDims() {
		if f != programpb.Field_DST {
			return false
		}
	}
	for _, b := range t.GetBits() {
		if b.GetField() != programpb.Field_ROUTE {
			return false
		}
	}
	words := (len(t.GetBits()) + 63) / 64
	if words == 0 {
		return false
	}
	everyAddress := func(box int) bool {
		return len(t.GetDims()) == 0 || t.Bounds[2*box] == 0 && t.Bounds[2*box+1] == ^uint32(0)
	}
	everyNumber := func(box int) bool {
		for _, required := range t.Required[box*words : (box+1)*words] {
			if required != 0 {
				return false
			}
		}
		return true
	}
	box := 0
	for box < maxFront && !everyAddress(box) && everyNumber(box) {
		box++
	}
	for everyAddress(box) {
		if everyNumber(box) { // the last box does
			return true
		}
		box++
	}
	return false
}
