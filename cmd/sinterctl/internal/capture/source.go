package capture

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/describe"
	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Source writes one engine's trace to a file.
type Source struct {
	file   *File
	name   string
	number uint64
	find   func(hash []byte) *programpb.Program

	started    *controlpb.TraceStarted
	program    *programpb.Program // nil: not known
	interfaces map[place]int
	packets    uint64
	last       *controlpb.Traced
}

// place is where a frame was seen.
type place struct {
	intf uint32
	kind controlpb.TracedFrame_Kind
}

// nowhere is the interface of a frame of which the engine does not know it any more.
const nowhere = ^uint32(0)

// Started implements control.Traces.
func (s *Source) Started(started *controlpb.TraceStarted) error {
	s.started = started
	if s.find != nil {
		s.program = s.find(started.GetHash())
	}
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	// All directions from the beginning, for readers that watch the file grow.
	for i := range started.GetInterfaces() {
		for _, kind := range []controlpb.TracedFrame_Kind{controlpb.TracedFrame_RECEIVED, controlpb.TracedFrame_SENT} {
			if _, err := s.intf(place{uint32(i), kind}); err != nil {
				return err
			}
		}
	}
	return s.file.ng.Flush()
}

// Traced implements control.Traces.
func (s *Source) Traced(traced *controlpb.Traced) error {
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	s.last = traced
	s.packets += uint64(len(traced.GetPackets()))
	for _, p := range traced.GetPackets() {
		if err := s.packet(p); err != nil {
			return err
		}
	}
	return s.file.ng.Flush()
}

// packet writes all frames of a packet.
func (s *Source) packet(p *controlpb.TracedPacket) error {
	at := time.Unix(0, int64(s.started.GetUnixNs()+p.GetTimeNs()-s.started.GetNowNs()))
	for i, f := range p.GetFrames() {
		intf, err := s.intf(place{f.GetInterface(), f.GetKind()})
		if err != nil {
			return err
		}
		r := frame{
			at: at, intf: intf,
			direction: pcapgo.NgEpbFlagDirectionOutbound, length: int(f.GetLength()), data: f.GetData(),
		}
		if f.GetKind() == controlpb.TracedFrame_RECEIVED {
			r.direction = pcapgo.NgEpbFlagDirectionInbound
		}
		if worker, number := identity(p); number > 0 {
			id := s.number<<56 | uint64(worker)<<48 | number
			r.id = &id
			r.comments = append(r.comments, fmt.Sprintf("packet %d of worker %d", number, worker))
		}
		if i == 0 {
			r.comments = append(r.comments, s.story(p)...)
		}
		if err := s.file.write(r); err != nil {
			return err
		}
	}
	return nil
}

// identity is what a packet is known by: the worker that received it, and its number there. Behind a function it is the same packet.
func identity(p *controlpb.TracedPacket) (worker uint32, number uint64) {
	if p.GetFirstNumber() > 0 {
		return p.GetFirstWorker(), p.GetFirstNumber()
	}
	return p.GetWorker(), p.GetNumber()
}

// back says from where a packet is back that was at a function, or went past it.
func (s *Source) back(p *controlpb.TracedPacket) string {
	if i := p.GetFrames()[0].GetInterface(); int64(i) < int64(len(s.program.GetInterfaces())) && s.program.GetInterfaces()[i].GetFunction() != "" {
		return "back from " + s.program.GetInterfaces()[i].GetFunction()
	}
	return "back from a function"
}

// story is what became of a packet.
func (s *Source) story(p *controlpb.TracedPacket) []string {
	var lines []string
	if p.GetFirstNumber() > 0 {
		lines = append(lines, s.back(p))
	}
	for _, c := range p.GetClasses() {
		line := fmt.Sprintf("segment %s, class %d", s.segment(c.GetSegment()), c.GetClass())
		if s.program != nil {
			line += ": " + describe.Class(s.program, int(c.GetSegment()), s.program.GetSegments()[c.GetSegment()].GetClasses()[c.GetClass()])
		}
		lines = append(lines, line)
	}
	for _, reason := range p.GetDrops() {
		lines = append(lines, "dropped: "+reason)
	}
	if len(p.GetFrames()) == 1 && len(p.GetDrops()) == 0 {
		lines = append(lines, "waits until its next hop's address is known")
	}
	if p.GetCut() {
		lines = append(lines, "more happened to it than the trace keeps")
	}
	return lines
}

func (s *Source) segment(i uint32) string {
	if names := s.started.GetSegments(); int64(i) < int64(len(names)) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// intf is the file's interface for a place; the file's lock is held.
func (s *Source) intf(p place) (int, error) {
	if i, found := s.interfaces[p]; found {
		return i, nil
	}
	name, what := "", "any interface"
	if names := s.started.GetInterfaces(); p.intf != nowhere && int64(p.intf) < int64(len(names)) {
		name = names[p.intf]
		what = "interface " + name
	}
	way, description := "", ""
	switch p.kind {
	case controlpb.TracedFrame_RECEIVED:
		way, description = "in", "as received by "+what
	case controlpb.TracedFrame_SENT:
		way, description = "out", "as sent by "+what
	case controlpb.TracedFrame_NOT_SENT:
		way, description = "not sent", "dropped when ready to be sent by "+what
	default:
		way, description = p.kind.String(), "seen at "+what
	}
	name = strings.TrimSpace(name + " " + way)
	if s.name != "" {
		name = s.name + "/" + name
		description += " of instance " + s.name
	}
	i, err := s.file.add(name, fmt.Sprintf("%s, program %.12s", description, hex.EncodeToString(s.started.GetHash())), s.started.GetTrace().GetSnapLen())
	if err != nil {
		return 0, err
	}
	s.interfaces[p] = i
	return i, nil
}

// Summary says in one line what was traced and why it ended.
func (s *Source) Summary() string {
	text := "traced " + plural(s.packets, "packet")
	if s.last.GetOver() != "" {
		text += ": " + s.last.GetOver()
	}
	text += fmt.Sprintf("; %d came meanwhile, %d were looked at", s.last.GetReceived(), s.last.GetExamined())
	if s.last.GetMissed() > 0 {
		text += fmt.Sprintf("; %d more found no room, look at one in more, or keep less of them", s.last.GetMissed())
	}
	return text
}

func plural(n uint64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
