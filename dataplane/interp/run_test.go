package interp

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
	r := &run{}
	r.undoable(change("before"))
	mark := len(r.undo)
	r.undoable(change("session"))
	r.lasting(change("tokens"))
	r.undoable(change("port"))
	r.rollback(mark)
	if want := []string{"before", "tokens"}; !slices.Equal(left, want) {
		t.Errorf("the drop leaves %q, want %q", left, want)
	}
	r.abandon()
	if len(left) > 0 {
		t.Errorf("the abandoned run leaves %q, want nothing", left)
	}
}
