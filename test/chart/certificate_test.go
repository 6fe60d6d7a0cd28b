package chart

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCertificateServesBothServicesUnderTheBundleOfTheWebhook(t *testing.T) {
	all := objects(t, render(t, "--set", "crds.install=false"))
	secret := find(t, all, "Secret", "sinter-certificate")
	pair, err := tls.X509KeyPair(data(t, secret, "tls.crt"), data(t, secret, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, bundle := range bundles(t, find(t, all, "ValidatingWebhookConfiguration", "sinter")) {
		if !roots.AppendCertsFromPEM(bundle) {
			t.Fatalf("caBundle is no certificate: %s", bundle)
		}
	}
	for _, service := range []string{"sinter-webhook", "sinter-metrics"} {
		find(t, all, "Service", service)
		name := service + "." + namespace + ".svc"
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("the API server would not trust %s: %v", name, err)
		}
	}
	if left := time.Until(pair.Leaf.NotAfter); left < 9*365*24*time.Hour {
		t.Errorf("the certificate ends in %s, want about ten years", left)
	}
}

func data(t *testing.T, secret *unstructured.Unstructured, key string) []byte {
	t.Helper()
	text, _, err := unstructured.NestedString(secret.Object, "data", key)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func bundles(t *testing.T, config *unstructured.Unstructured) [][]byte {
	t.Helper()
	hooks, _, err := unstructured.NestedSlice(config.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	var found [][]byte
	for _, hook := range hooks {
		text, _, err := unstructured.NestedString(hook.(map[string]any), "clientConfig", "caBundle")
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, decode(t, text))
	}
	return found
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
