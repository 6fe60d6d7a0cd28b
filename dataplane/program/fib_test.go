package program_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sinter-nfv/sinter/dataplane/fib"
	"github.com/sinter-nfv/sinter/dataplane/program"
	"github.com/sinter-nfv/sinter/dataplane/program/programpb"
)

func source() *fib.Source {
	return &fib.Source{
		Numbers: []uint16{2, 1, 2},
		Own:     []fib.Route{{Addr: 10 << 24, Bits: 8, Origin: 0}, {Addr: 0, Bits: 0, Origin: 2}},
		Texts:   []fib.Text{{URL: "https://routes.example.net/a", SHA256: strings.Repeat("0a", 32), Origin: 1}},
	}
}

func withSource(spoil func(*programpb.FibSource)) *programpb.Program {
	s := program.FIBSource(source())
	spoil(s)
	return &programpb.Program{Fibs: []*programpb.Fib{{Hash: make([]byte, 32), NextHops: 2, Source: s}}}
}

func TestAFIBsSourceIsReadAsItWasWritten(t *testing.T) {
	got, err := program.ReadFIBSource(withSource(func(*programpb.FibSource) {}), 0)
	if err != nil || !reflect.DeepEqual(got, source()) {
		t.Errorf("got %+v, %v; want %+v", got, err, source())
	}
	if program.FIBSource(nil) != nil {
		t.Error("there is a source of nothing")
	}
}

func TestAWrongSourceOfAFIBIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(*programpb.FibSource){
		"number is 3, want at most 2":                        func(s *programpb.FibSource) { s.Number[0] = 3 },
		"2 addresses with 1 lengths and 2 origins":           func(s *programpb.FibSource) { s.Length = s.Length[:1] },
		"length is 33, want at most 32":                      func(s *programpb.FibSource) { s.Length[0] = 33 },
		"origin is 3, but there are only 3":                  func(s *programpb.FibSource) { s.Origin[0] = 3 },
		"route 10.0.0.1/8 has bits beyond its length":        func(s *programpb.FibSource) { s.Address[0]++ },
		"there are 65 texts, want at most 64":                func(s *programpb.FibSource) { s.Texts = make([]*programpb.FibText, 65) },
		"there are 65536 origins, want at most 65535":        func(s *programpb.FibSource) { s.Number = make([]uint32, 65536) },
		"and a hash of 31, want at most 1024 and 32":         func(s *programpb.FibSource) { s.Texts[0].Sha256 = make([]byte, 31) },
		"has a URL of 1025 bytes":                            func(s *programpb.FibSource) { s.Texts[0].Url = strings.Repeat("a", 1025) },
		"fibs[0]: source: origin is 7, but there are only 3": func(s *programpb.FibSource) { s.Texts[0].Origin = 7 },
	} {
		if _, err := program.ReadFIBSource(withSource(spoil), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := program.ReadFIBSource(&programpb.Program{Fibs: []*programpb.Fib{{}}}, 0); err == nil || !strings.Contains(err.Error(), "does not say what the table of routes is built from") {
		t.Errorf("without a source: %v", err)
	}
}
