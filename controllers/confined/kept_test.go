package confined

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// Whoever has large texts must not fill the operator's memory.
func TestProcessesAreKeptUpToABound(t *testing.T) {
	const quarter = maxTexts / 4
	var k kept
	t.Cleanup(func() { k.drop(func(keptProcess) bool { return true }) })
	key := func(i int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(i)} }
	put := func(i, bytes int) *process {
		t.Helper()
		p := k.take(key(i))
		if p == nil {
			var err error
			if p, err = start([]string{"cat"}); err != nil {
				t.Fatal(err)
			}
		}
		k.put(key(i), p, bytes)
		return p
	}
	first := map[int]*process{}
	for i := range 4 {
		first[i] = put(i, quarter)
	}
	if put(0, quarter) != first[0] { // now 1 was used least recently
		t.Error("a chain's second process is not its first")
	}
	if k.memory() == 0 {
		t.Error("four processes take no memory")
	}
	put(4, quarter+1) // takes the room of 1 and 2
	for i, want := range map[int]bool{0: true, 3: true, 4: true, 1: false, 2: false} {
		p := k.take(key(i))
		if (p != nil) != want {
			t.Errorf("the process of chain %d is kept: %t, want %t", i, p != nil, want)
		}
		if p != nil {
			k.put(key(i), p, quarter)
		}
	}
	for _, i := range []int{1, 2} {
		if first[i].cmd.ProcessState == nil {
			t.Errorf("the process of chain %d is not kept, but it runs", i)
		}
	}
	if put(5, 2*maxTexts); len(k) != 1 {
		t.Errorf("beside one that is too large there are %d, want none", len(k)-1)
	}
}
