package dispatch

// Generations tell marks of one program from those of the programs before it, of which packets may still wait in a
// receive queue: so many, in so many bits of a mark.
const (
	GenerationBits = 4
	Generations    = 1 << GenerationBits
)

// Marks is how a class is written as the number on a packet: the program's generation above, the class and one
// below, so that no mark is 0. Software believes a mark only of its own program's generation, and only on whole packets with at least
// the segment's TTL floor.
type Marks struct {
	Generation uint32
	Shift      int // of the generation; 0: there are no marks
}

func marksOf(bits int, generation uint32) Marks {
	if bits <= GenerationBits {
		return Marks{}
	}
	return Marks{Generation: generation % Generations, Shift: bits - GenerationBits}
}

// classes is the number of classes that have a mark.
func (m Marks) classes() int {
	if m.Shift == 0 {
		return 0
	}
	return 1<<m.Shift - 1
}

// of is the mark of a class.
func (m Marks) of(class uint32) uint32 { return m.Generation<<m.Shift | (class + 1) }

// Class is the class that a mark stands for; ok is false for marks of other generations.
func (m Marks) Class(mark uint32) (class uint32, ok bool) {
	class = mark & (1<<m.Shift - 1)
	if m.Shift == 0 || class == 0 || mark>>m.Shift != m.Generation {
		return 0, false
	}
	return class - 1, true
}
