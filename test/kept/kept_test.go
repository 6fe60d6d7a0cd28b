package kept

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestMissingNamesRemovedAndChangedFieldsOnly(t *testing.T) {
	template := "vf"
	sent := &corev1.PodSpec{
		HostNetwork: true, Hostname: "a", NodeSelector: map[string]string{"zone": "1"},
		Containers:     []corev1.Container{{Name: "engine", Args: []string{"a", "b"}}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "inside", ResourceClaimTemplateName: &template}},
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   []string
	}{
		"the same": {change: func(*corev1.PodSpec) {}},
		"with defaults": {change: func(s *corev1.PodSpec) {
			s.RestartPolicy = "Always"
			s.NodeSelector["more"] = "2"
			s.Containers = append(s.Containers, corev1.Container{})
		}},
		"without a list":           {change: func(s *corev1.PodSpec) { s.ResourceClaims = nil }, want: []string{".resourceClaims: 1 of 1 entries"}},
		"without an entry":         {change: func(s *corev1.PodSpec) { s.Containers[0].Args = s.Containers[0].Args[:1] }, want: []string{".containers[0].args: 1 of 2 entries"}},
		"without a field of one":   {change: func(s *corev1.PodSpec) { s.ResourceClaims[0].ResourceClaimTemplateName = nil }, want: []string{".resourceClaims[0].resourceClaimTemplateName: sent vf, got <nil>"}},
		"without a map":            {change: func(s *corev1.PodSpec) { s.NodeSelector = nil }, want: []string{".nodeSelector"}},
		"without a flag":           {change: func(s *corev1.PodSpec) { s.HostNetwork = false }, want: []string{".hostNetwork: sent true, got <nil>"}},
		"with another word for it": {change: func(s *corev1.PodSpec) { s.Hostname = "b" }, want: []string{".hostname: sent a, got b"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := sent.DeepCopy()
			test.change(got)
			if lost, err := Missing(sent, got); err != nil || !slices.Equal(lost, test.want) {
				t.Errorf("missing are %q, %v; want %q", lost, err, test.want)
			}
		})
	}
}
