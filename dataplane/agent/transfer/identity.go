package transfer

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// MinSecret is the least length of a chain's secret, in bytes.
const MinSecret = 32

// Identity is what the pods of a chain know each other by: a pod that has the chain's secret is one of them. The secret yields one key pair, which both
// sides of a connection must have, by TLS' own proof of possession; so there is no authority, nothing to renew, and nothing that another
// chain's pods could use.
type Identity struct {
	certificate tls.Certificate
	public      ed25519.PublicKey
	shards      []byte
}

// NewIdentity derives an identity from a chain's secret.
func NewIdentity(secret []byte) (*Identity, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the chain's secret has %d bytes, want %d or more", len(secret), MinSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "sinter shard transfer", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	shards, err := hkdf.Key(sha256.New, secret, nil, "sinter shard of a flow", 32)
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sinter chain"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, 4.1.2.5: no end
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &Identity{certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, public: public, shards: shards}, nil
}

// ShardKey is the key by which all engines of the chain tell the shard of a flow.
func (i *Identity) ShardKey() []byte { return i.shards }

var errStranger = errors.New("the other side does not have the chain's secret")

func (i *Identity) config() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // names and authorities say nothing here: the key does, below
		SessionTicketsDisabled: true,
		// Whole chunks are waited for, not the first bytes of one.
		DynamicRecordSizingDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 || !i.public.Equal(s.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}
}

// Dial connects to the agent of another pod of the chain.
func (i *Identity) Dial(ctx context.Context, address string) (net.Conn, error) {
	return (&tls.Dialer{Config: i.config()}).DialContext(ctx, "tcp", address)
}
