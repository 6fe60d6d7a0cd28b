package chart

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sinter-nfv/sinter/api/pin"
)

// A scrape of a data-plane pod may go to whoever has its labels. Nothing that it gives away is of use there.
func TestPrometheusGivesNoSecretToThePodsThatItReads(t *testing.T) {
	for _, set := range []string{"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.enabled=true,webhook.certificate.certManager.enabled=true"} {
		monitor := find(t, objects(t, render(t, "--set", "crds.install=false", "--set", set)), "PodMonitor", "sinter-dataplane")
		endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "podMetricsEndpoints")
		if err != nil || len(endpoints) != 1 {
			t.Fatalf("%s: endpoints are %v, %v, want one", set, endpoints, err)
		}
		e := endpoints[0].(map[string]any)
		for _, field := range []string{"authorization", "basicAuth", "bearerTokenSecret", "oauth2"} {
			if e[field] != nil {
				t.Errorf("%s: the pod is sent %s", set, field)
			}
		}
		cert, _, err := unstructured.NestedString(e, "tlsConfig", "cert", "secret", "name")
		if key, _, _ := unstructured.NestedString(e, "tlsConfig", "keySecret", "name"); err != nil || cert != "sinter-metrics-certificate" || key != cert {
			t.Errorf("%s: certificate and key are of Secrets %q and %q, %v", set, cert, key, err)
		}
	}
}

func TestTheOperatorKnowsTheCertificateThatPrometheusShows(t *testing.T) {
	all := objects(t, render(t, "--set", "crds.install=false", "--set", "metrics.serviceMonitor.enabled=true"))
	secret := find(t, all, "Secret", "sinter-metrics-certificate")
	strict(t, kubernetes(t), secret)
	pair, err := tls.X509KeyPair(data(t, secret, "tls.crt"), data(t, secret, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(pair.Leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		t.Errorf("the certificate is for %v, want clients, too", pair.Leaf.ExtKeyUsage)
	}
	if got, err := pin.Read(data(t, secret, "tls.crt")); err != nil || got != pin.Of(pair.Leaf) {
		t.Errorf("the operator reads pin %q, %v, want %q", got, err, pin.Of(pair.Leaf))
	}
	if own := find(t, all, "Secret", "sinter-certificate"); string(data(t, own, "tls.crt")) == string(data(t, secret, "tls.crt")) {
		t.Error("operator and Prometheus have one certificate")
	}

	var deployment appsv1.Deployment
	convert(t, find(t, all, "Deployment", "sinter-operator"), &deployment)
	pod := deployment.Spec.Template.Spec
	file := ""
	for _, arg := range pod.Containers[0].Args {
		if after, found := strings.CutPrefix(arg, "--metrics-reader-cert="); found {
			file = after
		}
	}
	seen := ""
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name != m.Name || v.Secret == nil || v.Secret.SecretName != secret.GetName() {
				continue
			}
			for _, i := range v.Secret.Items {
				seen += m.MountPath + "/" + i.Path + " " + i.Key
			}
		}
	}
	if want := file + " tls.crt"; file == "" || seen != want {
		t.Errorf("of Prometheus' certificate and key the operator has %q, want %q alone", seen, want)
	}
}

func TestWithoutMonitorsThereIsNoReadersCertificate(t *testing.T) {
	text := render(t, "--set", "crds.install=false")
	for _, word := range []string{"metrics-certificate", "metrics-reader-cert"} {
		if strings.Contains(text, word) {
			t.Errorf("%s is rendered", word)
		}
	}
}
