package live

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/sinter-nfv/sinter/dataplane/control/controlpb"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

// Screen shows the report on a terminal, each time in place of the one before.
type Screen struct {
	W    io.Writer
	Size func() (width, height int) // of the terminal; 0: not known
}

// Show implements runner.View.
func (s Screen) Show(p *programpb.Program, before, now *controlpb.Stats) error {
	width, _ := s.Size()
	var b bytes.Buffer
	if err := Text(&b, Make(p, before, now), width); err != nil {
		return err
	}
	return s.Draw(b.Bytes())
}

// Draw shows a text as far as it fits.
func (s Screen) Draw(text []byte) error {
	if _, height := s.Size(); height > 1 {
		text = head(text, height-1)
	}
	// Home, then the text with the rest of each line wiped, then the rest of the screen.
	text = bytes.ReplaceAll(text, []byte("\n"), []byte("\x1b[K\n"))
	_, err := s.W.Write(append(append([]byte("\x1b[H"), text...), "\x1b[J"...))
	return err
}

// head is the first lines of a text.
func head(text []byte, lines int) []byte {
	for i, c := range text {
		if c != '\n' {
			continue
		}
		if lines--; lines == 0 {
			return text[:i+1]
		}
	}
	return text
}

// Log shows the report as a line with the time of day.
type Log struct{ W io.Writer }

// Show implements runner.View.
func (l Log) Show(p *programpb.Program, before, now *controlpb.Stats) error {
	return Line(l.W, time.Now(), Make(p, before, now))
}

// JSON shows the report as an object on a line.
type JSON struct{ W io.Writer }

// Show implements runner.View.
func (j JSON) Show(p *programpb.Program, before, now *controlpb.Stats) error {
	return json.NewEncoder(j.W).Encode(Make(p, before, now))
}

// Quiet shows nothing.
type Quiet struct{}

// Show implements runner.View.
func (Quiet) Show(*programpb.Program, *controlpb.Stats, *controlpb.Stats) error { return nil }
