// Package pin names the keys of certificates: a reader of metrics is known by its key, so that no authority has to sign for it.
package pin

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// Of is the pin of a certificate's public key: SHA-256 of its SubjectPublicKeyInfo, in base64 (RFC 7469, section 2.4). A certificate that is
// renewed with the same key has the same pin.
func Of(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Read is the pin of a file's certificate, in PEM. Where the file has several, that is the first one: those behind it are of the
// authorities that signed it.
func Read(file []byte) (string, error) {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", fmt.Errorf("its first certificate: %w", err)
		}
		return Of(c), nil
	}
	return "", errors.New("want a certificate in PEM (-----BEGIN CERTIFICATE-----)")
}
