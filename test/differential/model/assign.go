package model

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/test/packets"
)

// gone tells whether a flow of a replica has been idle for too long.
func (m *Model) gone(k known, f *followed) bool {
	t := m.p.GetTables()[k.table].GetAssignment()
	if k.proto == packets.ProtoTCP && f.tcp.ends {
		return m.now-f.last > time.Duration(t.GetTcpClosingMs())*time.Millisecond
	}
	return m.now-f.last > patience(t, k.proto, &f.tcp)
}

// assignedTo is the flow of an IP packet as a replica's table may have it; nil: it has not. along: it began in the packet's direction.
func (m *Model) assignedTo(table uint32, ip []byte, outside bool) (k known, f *followed, along bool) {
	src, dst := Ends(ip)
	here, there := known{table, ip[9], src, dst, outside}, known{table, ip[9], dst, src, !outside}
	for _, k := range []known{here, there} {
		if f := m.assigned[k]; f != nil && !m.gone(k, f) {
			return k, f, k == here
		}
	}
	return here, nil, true
}

// assign leads a packet to the replica that has its flow, or to one that is chosen.
func (m *Model) assign(s *Shot, a *programpb.Assign) (left bool) {
	ip, outside, tells := s.IP, a.GetFromOutside(), s.tellsFlow()
	if q := s.quoted(); q != nil {
		ip, outside, tells = q, !outside, true
	}
	replicas := a.GetReplicas()
	up := func(i int) bool { return m.Down == nil || !m.Down(int(replicas[i].GetInside())) }
	some := slices.ContainsFunc(replicas, func(r *programpb.Replica) bool { return m.Down == nil || !m.Down(int(r.GetInside())) })
	for i, r := range replicas {
		if !tells {
			break
		}
		k, f, _ := m.assignedTo(r.GetTable(), ip, outside)
		switch {
		case f == nil:
		case up(i) || !some:
			return m.segment(s, r.GetSegment())
		default:
			delete(m.assigned, k) // even if the packet is dropped
		}
	}
	return m.segment(s, replicas[m.pick(replicas, ip, up)].GetSegment())
}

// pick is the replica that is chosen for a packet's hosts.
func (m *Model) pick(replicas []*programpb.Replica, ip []byte, up func(i int) bool) int {
	var a element.Assign
	for _, r := range replicas {
		a.Replicas = append(a.Replicas, element.Replica{Draining: r.GetDraining(), Flows: element.Passing{Table: m.p.GetTables()[r.GetTable()].GetName()}})
	}
	return a.Pick(binary.BigEndian.Uint32(ip[12:]), binary.BigEndian.Uint32(ip[16:]), up)
}

// quoted is the packet that an error to its sender quotes, if a flow can be told from it; nil: it cannot, or there is none.
func (s *Shot) quoted() []byte {
	if !isError(s) || s.Frag() != 0 {
		return nil
	}
	q := quote(s)
	if q == nil || first(Ends(q)).Addr() != packets.Addr(s.Field(programpb.Field_DST)) {
		return nil
	}
	return q
}

// assignOn has the packet's flow be one of a replica's.
func (m *Model) assignOn(s *Shot, o *programpb.Assigned) {
	if !s.tellsFlow() {
		return
	}
	table := o.GetTable()
	_, f, along := m.assignedTo(table, s.IP, o.GetFromOutside())
	if f == nil {
		if m.liveAssigned(table) >= int(m.p.GetTables()[table].GetMaxSessions()) {
			return
		}
		src, dst := Ends(s.IP)
		begun := known{table, s.IP[9], src, dst, o.GetFromOutside()}
		delete(m.assigned, known{table, s.IP[9], dst, src, !o.GetFromOutside()}) // it is over
		f, along = &followed{last: m.now, tcp: connection{shift: [2]int{-1, -1}}}, true
		m.assigned[begun] = f
		m.undo = append(m.undo, func() { delete(m.assigned, begun) })
	}
	m.follow(f, s, along)
}

// liveAssigned are how many flows a replica has.
func (m *Model) liveAssigned(table uint32) (n int) {
	for k, f := range m.assigned {
		if k.table == table && !m.gone(k, f) {
			n++
		}
	}
	return n
}
