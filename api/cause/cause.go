// Package cause says why a container does not do its work.
package cause

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
)

// Of says why a container of the pod does not do its work, by the kubelet's word and the container's own last ones, and what helps; empty: all do.
// If several do not, it is the first one's cause, in the order of the names.
func Of(pod *corev1.Pod, containers ...string) string {
	all, statuses := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, name := range containers {
		c := containerOf(all, name)
		k := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
		if c == nil || k < 0 {
			continue
		}
		if why := whyNot(c, &statuses[k]); why != "" {
			return why
		}
	}
	return ""
}

// IsReady tells whether a container of the pod passes its probes, by the kubelet's word.
func IsReady(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container && s.Ready })
}

func containerOf(list []corev1.Container, name string) *corev1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// whyNot says why a container does not do its work; empty: it does, or it is just being started for the first time.
func whyNot(c *corev1.Container, s *corev1.ContainerStatus) string {
	switch w := s.State.Waiting; {
	case s.Ready:
		return ""
	case s.State.Terminated != nil:
		return ended(c, s, s.State.Terminated)
	case w != nil && aboutImage(w.Reason):
		return fmt.Sprintf("container %s: image %s cannot be pulled (%s); have the node's registry offer it, give the ServiceAccount imagePullSecrets, or correct its name (the chart's image values, or a function's image): %s",
			c.Name, cmp.Or(c.Image, s.Image), w.Reason, cmp.Or(w.Message, "the kubelet says no more"))
	case s.LastTerminationState.Terminated != nil:
		return ended(c, s, s.LastTerminationState.Terminated)
	case w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing":
		return fmt.Sprintf("container %s does not start: %s", c.Name, strings.TrimSpace(w.Reason+" "+w.Message))
	}
	return ""
}

// aboutImage tells whether a kubelet waits for an image: these are all its reasons (pkg/kubelet/images/types.go).
func aboutImage(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

// hasProbe tells whether the kubelet kills a container that does not answer. Those of functions that someone else made have no probe.
func hasProbe(container string) bool {
	return container == v1alpha1.ContainerEngine || container == v1alpha1.ContainerAgent || container == containerOperator
}

// containerOperator is the operator's container in its pod.
const containerOperator = "operator"

// ended says how a container ended, and what it said last.
func ended(c *corev1.Container, s *corev1.ContainerStatus, t *corev1.ContainerStateTerminated) string {
	how := fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode)
	switch {
	case t.Reason == "OOMKilled":
		how = fmt.Sprintf("container %s was killed: it needed more memory than its limit of %s", c.Name, c.Resources.Limits.Memory())
		if c.Name == v1alpha1.ContainerEngine {
			how += "; raise spec.resources.memory"
		}
	case t.ExitCode == 128+9 && hasProbe(c.Name):
		how = fmt.Sprintf("container %s was killed, most likely as it did not answer its liveness probe", c.Name)
	case t.ExitCode > 128 && t.ExitCode < 128+65:
		how = fmt.Sprintf("container %s ended by signal %d", c.Name, t.ExitCode-128)
	}
	if s.State.Running != nil {
		how += " and was started again"
	}
	if s.RestartCount > 1 {
		how += fmt.Sprintf(" (%d restarts)", s.RestartCount)
	}
	if last := LastWords(t.Message); last != "" {
		return how + ": " + last
	}
	return how
}

// maxLines is how many lines of a library before an error are told, too.
const maxLines = 5

// LastWords are the error that the end of a log tells last, with what DPDK said just before it; else its last line.
func LastWords(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	for k := range slices.Backward(lines) {
		if says := errorOf(lines[k]); says != "" {
			first := k
			for first > 0 && k-first < maxLines && strings.HasPrefix(lines[first-1], "EAL: ") {
				first--
			}
			return strings.Join(append(slices.Compact(lines[first:k:k]), says), "; ")
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// errorOf is the error that a line of a log tells, as the engine or the agent write them; empty: it tells none.
func errorOf(line string) string {
	for _, prefix := range []string{"error ", "sinter-agent: "} {
		if says, ok := strings.CutPrefix(line, prefix); ok {
			return says
		}
	}
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		return line
	}
	var entry struct{ Level, Msg, Err string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Level != "ERROR" {
		return ""
	}
	return strings.Trim(entry.Msg+": "+entry.Err, ": ")
}
