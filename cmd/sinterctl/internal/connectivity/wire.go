package connectivity

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/cmd/sinterctl/internal/cluster"
	"github.com/sinter-nfv/sinter/test/packets"
)

const (
	// attachPatience is how long a pod may take to say its MAC.
	attachPatience = 20 * time.Second
	// detachPatience is how long it may take to end when its input has.
	detachPatience = 5 * time.Second
	// longestLine is a frame of 2048 bytes in hex, and more.
	longestLine = 8192
)

// errEnded is why a wire ended whose command says nothing.
var errEnded = errors.New("sinter-smoke wire has ended")

// podWire is the interface net1 of a pod, by sinter-smoke in it.
type podWire struct {
	mac    packets.MAC
	in     *io.PipeWriter
	frames chan []byte
	kill   context.CancelFunc
	ended  chan struct{}

	sending sync.Mutex
	err     error // of the command, once it ended
}

// attach runs the command in a pod, and waits until it says its MAC.
func attach(ctx context.Context, pods cluster.Pods, pod client.ObjectKey) (*podWire, error) {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	in, hold := io.Pipe()
	out, written := io.Pipe()
	w := &podWire{in: hold, frames: make(chan []byte, arrivals), kill: kill, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.err = pods.Exec(running, pod, container, []string{smoke, "wire", "--interface", "net1"}, in, written)
		_ = written.CloseWithError(io.EOF)
		if w.err != nil {
			_ = in.CloseWithError(w.err)
		}
		_ = in.CloseWithError(errEnded)
	}()
	said := make(chan error, 1)
	go w.read(out, said)
	var err error
	select {
	case err = <-said:
	case <-time.After(attachPatience):
		err = fmt.Errorf("sinter-smoke says nothing for %s", attachPatience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		w.close()
		if errors.Is(err, errEnded) {
			err = w.Err()
		}
		return nil, fmt.Errorf("exec in pod %s: %w", pod, err)
	}
	return w, nil
}

// read reads the MAC, and then frames until the command ends.
func (w *podWire) read(out io.ReadCloser, said chan<- error) {
	defer out.Close()
	defer close(w.frames)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestLine)
	if !lines.Scan() {
		said <- errEnded
		return
	}
	mac, err := net.ParseMAC(lines.Text())
	if err != nil || len(mac) != len(w.mac) {
		said <- fmt.Errorf("sinter-smoke says %q; want the MAC of net1", lines.Text())
		return
	}
	copy(w.mac[:], mac)
	said <- nil
	for lines.Scan() {
		frame, err := hex.DecodeString(lines.Text())
		if err != nil {
			continue // no frame: nothing that a test waits for
		}
		select {
		case w.frames <- frame:
		default: // as a device with a full ring
		}
	}
}

// MAC implements Wire.
func (w *podWire) MAC() packets.MAC { return w.mac }

// Send implements Wire.
func (w *podWire) Send(frame []byte) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	_, err := fmt.Fprintf(w.in, "%x\n", frame)
	return err
}

// Frames implements Wire.
func (w *podWire) Frames() <-chan []byte { return w.frames }

// Err implements Wire.
func (w *podWire) Err() error {
	<-w.ended
	if w.err == nil {
		return errEnded
	}
	return w.err
}

// close ends the command, by its input and else by force.
func (w *podWire) close() {
	_ = w.in.Close()
	select {
	case <-w.ended:
	case <-time.After(detachPatience):
		w.kill()
		<-w.ended
	}
	w.kill()
}
