package explain

import (
	"slices"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/interp"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// maxPassages bounds how often a packet and its copies are followed through functions outside of the chain.
const maxPassages = 32

// Follow explains a frame, and what comes of it behind each function outside of the chain that it leaves for, as if the function let it through as it is.
func (e *Explainer) Follow(iface int, frame []byte) []Story {
	return e.passages(e.Explain(iface, frame))
}

// passages are a story and those behind functions, in the order in which they happen.
func (e *Explainer) passages(first Story) []Story {
	stories := []Story{first}
	for i := 0; i < len(stories) && len(stories) < maxPassages; i++ {
		for _, o := range stories[i].Out {
			if o.Tagged && len(stories) < maxPassages {
				stories = append(stories, e.behind(o))
			}
		}
	}
	return stories
}

// behind explains what comes of a frame that left for a function, when it comes back as it is.
func (e *Explainer) behind(o interp.Out) Story {
	name, back := e.function(o.Interface)
	s := e.explain(back, o.Frame, e.segmentBehind(o.Interface))
	s.Behind = name
	return s
}

// function is the one to which an interface leads, and the interface by which frames come back from it; -1: there is none, so that it is a link's.
func (e *Explainer) function(iface int) (name string, back int) {
	for i := range e.graph.Nodes {
		s, ok := e.graph.Nodes[i].Element.(element.Stop)
		if !ok {
			continue
		}
		if side := slices.Index(s.Interfaces[:], e.graph.Interfaces[iface].Name); side >= 0 {
			back, _ := e.Interface(s.Interfaces[element.StopSides-1-side])
			return e.graph.Nodes[i].Name, back
		}
	}
	return "", -1
}

// segmentBehind is where the program goes on with what left by an interface for a function; -1: nothing does.
func (e *Explainer) segmentBehind(out int) int {
	at := -1
	e.stops(func(s *programpb.Stop) {
		if int(s.GetOut()) == out {
			at = int(s.GetSegment())
		}
	})
	return at
}

func (e *Explainer) stops(f func(*programpb.Stop)) {
	for _, s := range e.result.Program.GetSegments() {
		for _, c := range s.GetClasses() {
			for _, l := range c.GetLegs() {
				if stop := l.GetStop(); stop != nil {
					f(stop)
				}
			}
		}
	}
}
