package connectivity

import (
	"strings"
	"testing"
)

func TestTheReportIsATable(t *testing.T) {
	var r Report
	r.add(Row{"udp", Passes, true, "10.213.0.7:40001 as 198.18.0.10:1024, and back"})
	r.add(Row{"martian", Drops, false, "0 of 3 frames of the client are counted as martian after 30s"})
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `TEST          RESULT  DETAIL
udp           passed  10.213.0.7:40001 as 198.18.0.10:1024, and back
drop martian  FAILED  0 of 3 frames of the client are counted as martian after 30s
1 of 2 passed
`
	if b.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", b.String(), want)
	}
	if err := r.Err(); err == nil || err.Error() != "1 of 2 tests failed" {
		t.Errorf("the error is %v", err)
	}
}
