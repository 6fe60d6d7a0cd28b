package lower

import (
	"fmt"
	"time"

	"github.com/sinter-nfv/sinter/api/finding"
	"github.com/sinter-nfv/sinter/api/rules"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/headerspace"
)

// Fail tells an error: the graph will not be used.
func (b *Builder) Fail(o finding.Object, field, value, format string, args ...any) {
	b.findings = append(b.findings, finding.Finding{Object: o, Field: field, Value: value, Message: fmt.Sprintf(format, args...)})
}

// missing fails for a reference to something that is not there.
func (b *Builder) missing(o finding.Object, field, value, format string, args ...any) {
	b.Fail(o, field, value, format, args...)
	b.findings[len(b.findings)-1].Code = finding.NotFound
}

// Warn tells a warning.
func (b *Builder) Warn(o finding.Object, field, value, format string, args ...any) {
	b.findings = append(b.findings, finding.Finding{
		Severity: finding.Warning, Object: o, Field: field, Value: value, Message: fmt.Sprintf(format, args...),
	})
}

// Problem tells a problem of package rules; ok is false if it is an error.
func (b *Builder) Problem(o finding.Object, field string, p *rules.Problem) (ok bool) {
	if p == nil {
		return true
	}
	if p.Field != "" {
		field += "." + p.Field
	}
	if p.Warning {
		b.Warn(o, field, p.Value, "%s", p.Message)
		return true
	}
	b.Fail(o, field, p.Value, "%s", p.Message)
	return false
}

// Filter is the packets that a match means; ok is false if it has errors.
func (b *Builder) Filter(o finding.Object, field string, m *v1alpha1.Match) (filter headerspace.Filter, ok bool) {
	filter, problems := rules.Filter(m)
	ok = true
	for i := range problems {
		ok = b.Problem(o, field, &problems[i]) && ok
	}
	return filter, ok
}

// TakeName notes that an entry of a list, at a field, has a name, and fails if that is taken. taken are the names of the entries before it, and
// others that none may have, each with whose it is; things is what the entries are called.
func (b *Builder) TakeName(taken map[string]string, o finding.Object, field, name, things string) {
	if first, ok := taken[name]; ok {
		b.Fail(o, field+".name", name, "the name is taken by %s; %s need names of their own", first, things)
	}
	taken[name] = field
}

// Timeout reads how long state is kept.
func (b *Builder) Timeout(f *Function, field string, d v1alpha1.Duration) time.Duration {
	t, err := d.Parse()
	if err != nil || t < time.Second || t > 7*24*time.Hour {
		b.Fail(f.Object, field, string(d), `not a timeout; write it like "2h4m", from 1s to 168h`)
	}
	return t
}
