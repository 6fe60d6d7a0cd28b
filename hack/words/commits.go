package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// since is when commits began to be checked, and subjectMax the most characters of a subject.
const (
	since      = "2026-11-27T06:00:00Z"
	subjectMax = 72
)

// room is what a subject may begin with: the room that a commit is about.
var room = regexp.MustCompile(`^[^:]{1,30}: `)

// imperatives look like another form of a verb.
var imperatives = []string{"bring", "embed", "exceed", "feed", "focus", "need", "proceed", "seed", "shed", "speed", "string"}

// commits gives a line for each commit since the check began whose message is not as reviewers want it. Merges are left out, and
// commits without a parent: an import, or the end of a shallow clone, which others may have made.
func commits(root string) (lines []string, err error) {
	log, err := git(root, "log", "--min-parents=1", "--max-parents=1", "--since="+since, "--format=%h%x00%B%x01")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(log, "\x01") {
		hash, message, found := strings.Cut(strings.TrimSpace(entry), "\x00")
		if !found {
			continue
		}
		for _, wrong := range wrongMessage(message) {
			lines = append(lines, "commit "+hash+": "+wrong)
		}
		lines = append(lines, searchText("commit "+hash, []byte(message))...)
	}
	return lines, nil
}

// wrongMessage is what is wrong with a commit's message.
func wrongMessage(message string) (wrong []string) {
	subject, body, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if n := len([]rune(subject)); n > subjectMax {
		wrong = append(wrong, fmt.Sprintf("the subject has %d characters: write at most %d", n, subjectMax))
	}
	if strings.TrimSpace(body) == "" {
		wrong = append(wrong, "there is no body: write the reason, and figures if behaviour or speed changes")
	}
	verb, _, _ := strings.Cut(room.ReplaceAllString(subject, ""), " ")
	if !isImperative(verb) {
		wrong = append(wrong, fmt.Sprintf("%q begins with %q: write an imperative, such as \"Engine: count dropped fragments\"", subject, verb))
	}
	return wrong
}

func isImperative(verb string) bool {
	v := strings.ToLower(verb)
	if v == "" || slices.Contains(imperatives, v) {
		return v != ""
	}
	if slices.Contains([]string{"a", "an", "the", "no", "not"}, v) {
		return false
	}
	return !strings.HasSuffix(v, "ing") && !strings.HasSuffix(v, "ed") && (!strings.HasSuffix(v, "s") || strings.HasSuffix(v, "ss"))
}
