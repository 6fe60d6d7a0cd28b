package pass

import (
	"slices"
	"testing"
)

func TestWhatADroppedPacketLeavesBehind(t *testing.T) {
	var left []string
	change := func(what string) func() {
		left = append(left, what)
		return func() { left = slices.DeleteFunc(left, func(s string) bool { return s == what }) }
	}
	r := &Run{}
	r.Undoable(change("before"))
	mark := len(r.undo)
	r.Undoable(change("session"))
	r.Lasting(change("tokens"))
	r.Undoable(change("port"))
	r.rollback(mark)
	if want := []string{"before", "tokens"}; !slices.Equal(left, want) {
		t.Errorf("the drop leaves %q, want %q", left, want)
	}
	r.Abandon()
	if len(left) > 0 {
		t.Errorf("the abandoned run leaves %q, want nothing", left)
	}
}
