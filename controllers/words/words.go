// Package words puts what controllers say into what the API takes: conditions and events of bounded length.
package words

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

const (
	// message is how many bytes of a condition's message are of use to a reader. (The API takes 32 KiB.)
	message = 4096
	// note is how many the API takes of an event's.
	note = 1024
)

// Message is a text that fits into a condition.
func Message(text string) string { return cut(text, message) }

// Event tells of a decision about an object, and another that it has to do with; nil: none.
func Event(r recorder.EventRecorder, about, related runtime.Object, kind, reason, action, format string, args ...any) {
	r.Eventf(about, related, kind, reason, action, "%s", cut(fmt.Sprintf(format, args...), note))
}

// cut ends a text that has more bytes than the limit with an ellipsis, between two characters.
func cut(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}

// Count is a number of things in words.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
