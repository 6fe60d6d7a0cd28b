package pass

import (
	"fmt"
	"net/netip"
	"slices"
)

// Chooser makes the run-time choice of an element that needs a new binding: an outside address and port. allowed tells whether the element
// may choose it now. ok is false if the chooser finds none; a choice that is not allowed counts as none.
type Chooser func(b Binding, allowed func(netip.AddrPort) bool) (outside netip.AddrPort, ok bool)

// Told is a choice of an engine's for a frame. The element that makes such choices takes it.
type Told interface {
	// Unasked says that no element took it. It is empty if one did and left it to others, who have to know of it, too (Noting).
	Unasked() string
}

// Noting is a choice that concerns several elements. They leave it where it is (ToldAs), and it notes what becomes of it in a run.
type Noting interface {
	Told
	// Fresh is the choice as a run begins with it: nothing has become of it yet.
	Fresh() Told
}

// Following is an element that has to know what an engine told of a frame before the frame comes in.
type Following interface {
	Follow(r *Run)
}

// Refusing is an element that may refuse to begin what it keeps state for.
type Refusing interface {
	// Refuses are its reasons.
	Refuses() []string
}

// Follow has a run that has not begun follow an engine's: told is what that chose; for refusals see Run.
func (r *Run) Follow(told []Told, refusals []Drop) {
	r.Against, r.Refusals = true, refusals
	for _, t := range told {
		if n, ok := t.(Noting); ok {
			t = n.Fresh()
		}
		r.Told = append(r.Told, t)
	}
	for _, e := range All[Following](r.Chain) {
		e.Follow(r)
	}
}

// Take is the first of an engine's choices of a type that is as asked for; false: there is none.
func Take[T Told](r *Run, is func(T) bool) (found T, ok bool) {
	for i, told := range r.Told {
		if t, of := told.(T); of && is(t) {
			r.Told = slices.Delete(slices.Clone(r.Told), i, i+1)
			return t, true
		}
	}
	return found, false
}

// ToldAs are an engine's choices of a type, in their order. They stay for other elements.
func ToldAs[T Told](r *Run) (list []T) {
	for _, told := range r.Told {
		if t, of := told.(T); of {
			list = append(list, t)
		}
	}
	return list
}

// Unasked says of each choice of the engine's that no element took it.
func (r *Run) Unasked() (out []string) {
	for _, t := range r.Told {
		if why := t.Unasked(); why != "" {
			out = append(out, why)
		}
	}
	return out
}

// MayRefuse tells whether an engine dropped a packet for a reason for which elements refuse to begin something.
func (c *Chain) MayRefuse(drops []Drop) bool {
	for _, e := range All[Refusing](c) {
		if slices.ContainsFunc(e.Refuses(), func(reason string) bool { return slices.Contains(drops, Drop{reason}) }) {
			return true
		}
	}
	return false
}

// Deny notes that an engine chose what was not allowed.
func (r *Run) Deny(format string, args ...any) {
	r.Denied = append(r.Denied, fmt.Sprintf(format, args...))
}
