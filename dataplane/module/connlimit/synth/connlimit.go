// Package synth has the meaning of connection limiters on sets of packets: an operation that finds or makes a connection.
package synth

import (
	"github.com/sinter-nfv/sinter/dataplane/element"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
	"github.com/sinter-nfv/sinter/dataplane/synth/walk"
)

func init() { walk.Register(func(e element.ConnLimit) walk.Meaning { return limit{e} }) }

type limit struct{ element.ConnLimit }

func (l limit) TableName() string { return l.Table }

// Walk: whether a packet has a connection, or may begin one, is known at run time. Packets that pass leave as they came. The operation reads
// addresses and ports, so a NAPT before it has chosen then, and one whose reply it sees has given that its destination.
func (l limit) Walk(w *walk.Walker, t *walk.Unit, at walk.Arrival) error {
	if err := w.Act(t, at.Node, walk.Op{Kind: opConnect, Arg: argOf(at.Node, at.Port)}, l.Traits().Reads, nil); err != nil {
		return err
	}
	w.Table(at.Node)
	return w.Follow(t, at.Node, l.Leaves(at.Port), -1)
}

func (l limit) Leads(h walk.HopTo, in int, on func(walk.HopTo, int)) { on(h, l.Leaves(in)) }

// argOf is a node and a side as an operation has them, and nodeOf the other way round.
func argOf(node, side int) int64 { return int64(node)<<1 | int64(side) }

func nodeOf(arg int64) (node, side int) { return int(arg >> 1), int(arg & 1) }

var opConnect = walk.NewOperation(walk.Operation{
	Write: func(e *walk.Emitter, o walk.Op, says *walk.Leg) *programpb.Op {
		node, side := nodeOf(o.Arg)
		says.Ops = append(says.Ops, "bound connections ("+e.Node(node).Name+")")
		return &programpb.Op{Op: &programpb.Op_Connect{Connect: &programpb.Connect{
			Table: e.Table(node), Full: e.Drop(e.Node(node).Element.(element.ConnLimit).Full).GetChain(), FromOutside: side == element.ConnLimitOutside,
		}}}
	},
	Verdict: true,
})

// Keep implements Keeping. The hosts have the name of the table, which is the node's.
func (l limit) Keep(e *walk.Emitter, t *programpb.StateTable) {
	t.MaxSessions = uint32(l.Max)
	t.ConnectionLimit = &programpb.ConnectionLimit{
		TcpMs: walk.Milliseconds(l.Timeouts.TCP), TcpTransitoryMs: walk.Milliseconds(l.Timeouts.TCPTransitory),
		TcpClosingMs: walk.Milliseconds(l.Timeouts.TCPClosing), UdpMs: walk.Milliseconds(l.Timeouts.UDP), IcmpMs: walk.Milliseconds(l.Timeouts.ICMP),
		Subscribers: e.Subscribers(t.Name, l.PerHost),
	}
}
