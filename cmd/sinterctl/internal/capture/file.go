package capture

import (
	"io"
	"sync"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// File is a pcapng file that traces of one or several engines are written to, which may be at the same time.
type File struct {
	w           io.Writer
	application string

	mu      sync.Mutex
	ng      *pcapgo.NgWriter // nil until there is an interface, without which there is no such file
	sources uint64
}

// NewFile begins a file; application is the program that writes it.
func NewFile(w io.Writer, application string) *File {
	return &File{w: w, application: application}
}

// Begun tells whether anything is in the file.
func (f *File) Begun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ng != nil
}

// Source is one engine's part of the file: a receiver of its trace. Its interfaces are called by the name, if it has
// one, and their own. find finds the program that has a hash; it may be nil, and return nil.
func (f *File) Source(name string, find func(hash []byte) *programpb.Program) *Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sources++
	return &Source{file: f, name: name, number: f.sources - 1, find: find, interfaces: map[place]int{}}
}

// add adds an interface; the lock is held.
func (f *File) add(name, description string, snap uint32) (int, error) {
	intf := pcapgo.NgInterface{
		Name: name, Description: description, LinkType: layers.LinkTypeEthernet, SnapLength: snap, TimestampResolution: 9,
	}
	if f.ng != nil {
		return f.ng.AddInterface(intf)
	}
	var err error
	f.ng, err = pcapgo.NewNgWriterInterface(f.w, intf, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: f.application}})
	return 0, err
}

// frame is one frame of the file.
type frame struct {
	at        time.Time
	intf      int
	id        *uint64 // the same for all frames of one packet; nil: not known
	direction pcapgo.NgEpbFlag
	comments  []string
	length    int
	data      []byte
}

// write writes a frame; the lock is held.
func (f *File) write(r frame) error {
	return f.ng.WritePacketWithOptions(
		gopacket.CaptureInfo{Timestamp: r.at, CaptureLength: len(r.data), Length: r.length, InterfaceIndex: r.intf}, r.data,
		pcapgo.NgPacketOptions{Comments: r.comments, Flags: &pcapgo.NgEpbFlags{Direction: r.direction}, PacketID: r.id})
}
