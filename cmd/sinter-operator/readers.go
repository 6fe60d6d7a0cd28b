package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sinter-nfv/sinter/api/pin"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// readReaders is how often the file with a reader's certificate is looked at. The kubelet needs a minute or so to bring another one into a pod.
const readReaders = 10 * time.Second

// readers are those who may read metrics of chains' pods by a certificate that a file has.
type readers struct {
	file    string
	every   time.Duration          // from one look at it to the next
	pin     atomic.Pointer[string] // nil: there is no file
	changed chan event.GenericEvent
}

// newReaders reads the file; none: there are no readers.
func newReaders(file string) (*readers, error) {
	r := &readers{file: file, every: readReaders, changed: make(chan event.GenericEvent)}
	if file == "" {
		return r, nil
	}
	_, err := r.read()
	return r, err
}

// pins are those of the readers' certificates.
func (r *readers) pins() []string {
	if p := r.pin.Load(); p != nil {
		return []string{*p}
	}
	return nil
}

// read reads the file, and tells whether its key is another one.
func (r *readers) read() (bool, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return false, err
	}
	now, err := pin.Read(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.file, err)
	}
	before := r.pin.Swap(&now)
	return before == nil || *before != now, nil
}

// NeedLeaderElection has a replica read the file before it leads: its first programs are for the readers of that moment.
func (r *readers) NeedLeaderElection() bool { return false }

// Start has chains looked at whenever the key has changed, until the context ends. A file that cannot be read changes nothing.
func (r *readers) Start(ctx context.Context) error {
	if r.file == "" {
		return nil
	}
	log := ctrl.Log.WithName("readers")
	said := ""
	var changed chan<- event.GenericEvent // nil: chains know the key
	for {
		other, err := r.read()
		switch {
		case err == nil:
			said = ""
		case err.Error() != said: // not again each time it is tried
			said = err.Error()
			log.Error(err, "the certificate of those who read metrics cannot be read; the one before holds")
		}
		if other {
			log.Info("those who read metrics have another certificate", "pins", r.pins())
			changed = r.changed
		}
		select {
		case <-ctx.Done():
			return nil
		case changed <- event.GenericEvent{Object: &v1alpha1.ServiceChain{}}: // nobody listens before the replica leads
			changed = nil
		case <-time.After(r.every):
		}
	}
}
