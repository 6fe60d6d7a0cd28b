package walk

import (
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// runID is a NAPT run as walked so far: a run before it, and the NAPT that was added.
type runID int

const noRun runID = -1

// runs are all runs that the walk met; those that reached an end are used.
type runs struct {
	links []runLink
	index map[runLink]runID
	// used are the runs of the program, as NAPT nodes in order.
	used [][]int
	at   map[runID]int // index into used
}

type runLink struct {
	prev runID
	node int
}

func newRuns() runs { return runs{index: map[runLink]runID{}, at: map[runID]int{}} }

// extend is the run with a NAPT more.
func (r *runs) extend(run runID, node int) runID {
	l := runLink{run, node}
	id, ok := r.index[l]
	if !ok {
		id = runID(len(r.links))
		r.links = append(r.links, l)
		r.index[l] = id
	}
	return id
}

// last is the NAPT whose choice stands.
func (r *runs) last(run runID) int { return r.links[run].node }

// use numbers a run for the program; fresh tells that it is new.
func (r *runs) use(run runID) (i int, fresh bool) {
	if i, ok := r.at[run]; ok {
		return i, false
	}
	var nodes []int
	for id := run; id != noRun; id = r.links[id].prev {
		nodes = append(nodes, r.links[id].node)
	}
	slices.Reverse(nodes)
	i = len(r.used)
	r.at[run] = i
	r.used = append(r.used, nodes)
	return i, true
}

// forget takes runs out of use again but the first n.
func (r *runs) forget(n int) {
	r.used = r.used[:n]
	for id, i := range r.at {
		if i >= n {
			delete(r.at, id)
		}
	}
}

// capacity is how many flows of a protocol the NAPT's pool has ports for.
func (n *napt) capacity() int { return len(n.Pool) * (int(n.PortMax) - int(n.PortMin) + 1) }

// Keep implements Keeping.
func (n *napt) Keep(_ *Emitter, t *programpb.StateTable) {
	t.PortMin, t.PortMax, t.MaxSessions = uint32(n.PortMin), uint32(n.PortMax), uint32(n.MaxSessions)
	t.PortRestMs, t.Paired = Milliseconds(n.Quarantine), n.Paired
	t.Mapping, t.Filtering = programpb.Dependence(n.Mapping), programpb.Dependence(n.Filtering)
	for _, a := range n.Pool {
		last := len(t.Pool) - 1
		if last >= 0 && t.Pool[last].Last+1 == IPv4(a) {
			t.Pool[last].Last++
			continue
		}
		t.Pool = append(t.Pool, &programpb.AddressRange{First: IPv4(a), Last: IPv4(a)})
	}
	for _, r := range n.Reserved {
		t.Reserved = append(t.Reserved, &programpb.ReservedPorts{Proto: uint32(r.Proto), Address: IPv4(r.Addr), First: uint32(r.First), Last: uint32(r.Last)})
	}
}

// tables writes state tables and the runs that lead into them.
func (e *Emitter) tables() {
	for _, node := range e.w.tables {
		t := &programpb.StateTable{Name: e.w.g.Nodes[node].Name}
		if s, ok := e.w.means[node].(Sharing); ok {
			t.Name = s.TableName()
		}
		e.w.means[node].(Keeping).Keep(e, t)
		e.p.Tables = append(e.p.Tables, t)
	}
	for i, run := range e.w.runs.used {
		last := run[len(run)-1]
		r := &programpb.Run{
			Name: e.w.runName(i), Table: uint32(e.w.Table(last)),
			Segment: uint32(e.w.index[start{kind: startReturn, node: last, run: i}]),
		}
		to := e.w.napt(last).Timeouts
		room := e.w.napt(last).capacity()
		var names []string
		for _, node := range run {
			n := e.w.napt(node)
			to.TCP, to.TCPTransitory = min(to.TCP, n.Timeouts.TCP), min(to.TCPTransitory, n.Timeouts.TCPTransitory)
			to.UDP, to.ICMP = min(to.UDP, n.Timeouts.UDP), min(to.ICMP, n.Timeouts.ICMP)
			if c := n.capacity(); c < room {
				room = c
				r.MaxSessions = uint32(c)
			}
			if len(run) > 1 {
				r.Single = append(r.Single, uint32(e.w.run(e.w.single(node))))
			}
			names = append(names, e.w.g.Nodes[node].Name)
		}
		r.Subscribers = e.subscribers(run[0])
		r.TcpMs, r.TcpTransitoryMs, r.UdpMs, r.IcmpMs = Milliseconds(to.TCP), Milliseconds(to.TCPTransitory), Milliseconds(to.UDP), Milliseconds(to.ICMP)
		e.p.Runs = append(e.p.Runs, r)
		e.r.Runs = append(e.r.Runs, Run{Name: r.Name, NAPTs: names, Table: e.p.Tables[r.Table].Name})
	}
}

// subscribers is whose the sessions of a run are that begins with a NAPT, as Run has it. Behind it are no subscribers.
func (e *Emitter) subscribers(node int) uint32 {
	l, name := e.w.napt(node).Limits, e.w.g.Nodes[node].Name
	if l == (element.SubscriberLimits{}) {
		return 0
	}
	i := slices.IndexFunc(e.p.Subscribers, func(s *programpb.SubscriberLimits) bool { return s.Name == name })
	if i < 0 {
		i = len(e.p.Subscribers)
		e.p.Subscribers = append(e.p.Subscribers, &programpb.SubscriberLimits{
			Name: name, PrefixLen: uint32(l.PrefixLen), MaxSessions: uint32(l.MaxSessions), MaxPorts: uint32(l.MaxPorts), Reason: e.Drop(l.Reason).GetChain(),
		})
	}
	return uint32(i + 1)
}

// Milliseconds is a time as programs have it.
func Milliseconds(d time.Duration) uint32 { return uint32(d.Milliseconds()) }
