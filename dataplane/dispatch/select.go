package dispatch

import "container/heap"

// selection is what of the candidates is in the plan.
type selection struct {
	p        *planner
	room     int
	perPass  int // rules of the device for one that does not drop
	acts     []bool
	covers   []bool
	absorbed []bool
	part     []int     // the number of rules of those of which not all found room
	price    []int     // rules that a candidate and what it needs would still take
	users    [][]int32 // by what they need
	queue    ratioQueue
}

// choose picks the candidates that save most cycles per rule, until the room is used up. A candidate costs its own rules and
// those that cover what it needs and has not; the fewer of these are missing, the cheaper it becomes. Those that are off are
// left out.
func (p *planner) choose(room, perPass int, off []bool) *selection {
	n := len(p.main) + len(p.exceptions)
	s := &selection{
		p: p, room: room, perPass: perPass,
		acts: make([]bool, len(p.main)), absorbed: make([]bool, len(p.main)), part: make([]int, len(p.main)), covers: make([]bool, n),
		price: make([]int, len(p.main)), users: make([][]int32, n),
	}
	s.queue = ratioQueue{s: s, at: make([]int, len(p.main))}
	for i := range p.main {
		c := &p.main[i]
		s.queue.at[i] = -1
		if len(c.act) == 0 || c.gain == 0 || off[i] {
			continue
		}
		s.price[i] = p.price(c, perPass)
		for _, j := range c.needs {
			s.users[j] = append(s.users[j], int32(i))
			s.price[i] += s.coverPrice(j)
		}
		heap.Push(&s.queue, i)
	}
	for {
		s.fill()
		if !s.absorb() {
			s.squeeze()
			return s
		}
	}
}

// coverPrice is what a cover costs that is not there yet.
func (s *selection) coverPrice(j int32) int {
	if int(j) >= len(s.p.main) {
		return len(s.p.exceptions[int(j)-len(s.p.main)].cover) * s.perPass
	}
	return len(s.p.main[j].cover) * s.perPass
}

// fill takes candidates while there is room for the next best.
func (s *selection) fill() {
	var tooLarge []int
	for s.queue.Len() > 0 {
		i := heap.Pop(&s.queue).(int)
		if s.price[i] > s.room {
			tooLarge = append(tooLarge, i)
			continue
		}
		s.take(i)
		for _, j := range tooLarge { // they may have become cheaper
			if s.price[j] <= s.room {
				heap.Push(&s.queue, j)
			}
		}
		tooLarge = keepOut(tooLarge, s.queue.at)
	}
	for _, i := range tooLarge {
		heap.Push(&s.queue, i)
	}
}

// squeeze takes some rules of candidates that lack nothing else but room for all.
func (s *selection) squeeze() {
	var list []int
	for s.queue.Len() > 0 {
		list = append(list, heap.Pop(&s.queue).(int))
	}
	for _, i := range list {
		c := &s.p.main[i]
		each := s.p.price(c, s.perPass) / len(c.act)
		if n := s.room / each; n > 0 && !s.covers[i] && s.price[i] == each*len(c.act) {
			s.part[i] = min(n, len(c.act))
			s.room -= s.part[i] * each
		}
	}
}

// keepOut is the list without those that are in the queue again.
func keepOut(list []int, at []int) []int {
	out := list[:0]
	for _, i := range list {
		if at[i] < 0 {
			out = append(out, i)
		}
	}
	return out
}

// take puts a candidate and the covers that it needs into the plan.
func (s *selection) take(i int) {
	s.room -= s.price[i]
	for _, j := range s.p.main[i].needs {
		if s.covered(j) {
			continue
		}
		s.covers[j] = true
		s.cheaper(j, s.coverPrice(j))
		if int(j) < len(s.p.main) && s.p.main[j].exact && s.queue.at[j] >= 0 {
			s.price[j] -= s.coverPrice(j)
			heap.Fix(&s.queue, s.queue.at[j])
		}
	}
	had := s.covered(int32(i))
	s.acts[i] = true
	if c := &s.p.main[i]; c.exact && !had {
		s.cheaper(int32(i), s.coverPrice(int32(i)))
	}
}

// covered tells whether a box's packets are taken by a rule at its place.
func (s *selection) covered(j int32) bool {
	return s.covers[j] || int(j) < len(s.p.main) && s.p.main[j].exact && s.acts[j]
}

// cheaper takes a cover that is there now off the price of all that need it.
func (s *selection) cheaper(j int32, by int) {
	for _, i := range s.users[j] {
		s.price[i] -= by
		if at := s.queue.at[i]; at >= 0 {
			heap.Fix(&s.queue, at)
		}
	}
}

// ratioQueue has the candidate with the most cycles per rule first.
type ratioQueue struct {
	s     *selection
	items []int
	at    []int // of a candidate among the items; -1: not there
}

func (q *ratioQueue) Len() int { return len(q.items) }

func (q *ratioQueue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	// Products instead of quotients: a price may be 0.
	x, y := q.s.p.main[a].gain*float64(q.s.price[b]), q.s.p.main[b].gain*float64(q.s.price[a])
	if x != y {
		return x > y
	}
	return a < b
}

func (q *ratioQueue) Swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.at[q.items[i]], q.at[q.items[j]] = i, j
}

// Push is for container/heap.
func (q *ratioQueue) Push(x any) {
	q.at[x.(int)] = len(q.items)
	q.items = append(q.items, x.(int))
}

// Pop is for container/heap.
func (q *ratioQueue) Pop() any {
	last := len(q.items) - 1
	i := q.items[last]
	q.items = q.items[:last]
	q.at[i] = -1
	return i
}
