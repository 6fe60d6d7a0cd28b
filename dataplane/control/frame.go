package control

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program"
)

// MaxMessage is the most bytes that one message may have, in either direction; the engine has the same bound.
const MaxMessage = 2 * program.MaxEncoded

const lengthBytes = 4

// ReadRequest reads one request of a stream of at most so many bytes each; the stream's end before its first byte is io.EOF.
func ReadRequest(r io.Reader, most int) (*controlpb.Request, error) {
	req := new(controlpb.Request)
	return req, readMessage(r, req, most)
}

// WriteResponse answers a request.
func WriteResponse(w io.Writer, resp *controlpb.Response) error { return writeMessage(w, resp) }

// buffers are encoded messages that were. Streams of messages would else have the collector run all the time.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keep is the largest buffer that is used again: programs are larger, and rare.
const keep = 1 << 20

func release(b *[]byte) {
	if cap(*b) <= keep {
		buffers.Put(b)
	}
}

// writeMessage sends a message behind its length, in one write.
func writeMessage(w io.Writer, m proto.Message) error {
	buffer := buffers.Get().(*[]byte)
	defer release(buffer)
	b, err := proto.MarshalOptions{}.MarshalAppend(append((*buffer)[:0], make([]byte, lengthBytes)...), m)
	*buffer = b
	if err != nil {
		return err
	}
	if n := len(b) - lengthBytes; n > MaxMessage {
		return fmt.Errorf("message has %d bytes, at most %d can be sent", n, MaxMessage)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthBytes))
	_, err = w.Write(b)
	return err
}

// readMessage reads one message; the stream's end before its first byte is io.EOF.
func readMessage(r io.Reader, m proto.Message, most int) error {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if int64(n) > int64(most) {
		return fmt.Errorf("message of %d bytes announced, at most %d are read: is this an engine's control socket?", n, most)
	}
	buffer := buffers.Get().(*[]byte)
	defer release(buffer)
	*buffer = slices.Grow((*buffer)[:0], int(n))
	b := (*buffer)[:n]
	if _, err := io.ReadFull(r, b); err != nil {
		return fmt.Errorf("message of %d bytes cut short: %w", n, err)
	}
	return proto.Unmarshal(b, m)
}
