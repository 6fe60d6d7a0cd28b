package telemetry

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/sinter-nfv/sinter/api/pin"
)

// How long a verdict of the cluster holds, and how long one that allowed does while the cluster does not answer.
const (
	verdictHolds  = time.Minute
	verdictKeeps  = time.Hour
	reviewTimeout = 5 * time.Second
	maxVerdicts   = 64
	maxAskers     = 1024
)

// How many questions to the cluster strangers may cause, a second and at once: all, and one address. The readers that the cluster has allowed
// are not counted.
const (
	reviewRate, reviewBurst = 10, 10
	askerRate, askerBurst   = 1, 3
)

// Readers lets those read metrics whom the operator names by the key of their TLS client certificate, or whom the cluster allows to get /metrics.
// The cluster is asked with the reader's own token ("may I?"), so that the agent needs no right to review others, which could not be given
// to it in its namespace alone. A token is in the hands of whoever takes it; a certificate shows who a reader is, and gives nothing away.
type Readers struct {
	Config *rest.Config
	Clock  clock.PassiveClock
	// Pins are those of certificates (pin.Of) that may read; nil: none may.
	Pins func() []string

	mu       sync.Mutex
	verdicts map[[sha256.Size]byte]verdict
	reviews  *rate.Limiter
	askers   map[string]*rate.Limiter // by address
}

type verdict struct {
	at      time.Time
	allowed bool
}

var errBusy = errors.New("too many requests to the cluster; try again")

// Only serves those who may read.
func (r *Readers) Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		refused := r.refused(req.TLS)
		if refused == "" {
			next.ServeHTTP(w, req)
			return
		}
		token, found := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
		if !found || token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token of the cluster, or a certificate of spec.metricsReaders, is required: "+refused, http.StatusUnauthorized)
			return
		}
		allowed, err := r.allowed(req.Context(), req.RemoteAddr, token)
		switch {
		case errors.Is(err, errBusy):
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		case apierrors.IsUnauthorized(err):
			http.Error(w, "the cluster does not know the token", http.StatusUnauthorized)
		case err != nil:
			http.Error(w, "the cluster does not answer whether this user may read metrics", http.StatusServiceUnavailable)
		case !allowed:
			http.Error(w, "the token does not allow to get /metrics", http.StatusForbidden)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// refused is why a connection's certificate does not allow to read; empty: it does. TLS has shown that the other side has its key.
func (r *Readers) refused(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return "there is neither"
	}
	c := state.PeerCertificates[0]
	own := pin.Of(c)
	switch now := r.Clock.Now(); {
	case r.Pins == nil || !slices.Contains(r.Pins(), own):
		return "the certificate's pin is " + own
	case now.Before(c.NotBefore):
		return "the certificate is not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	case now.After(c.NotAfter):
		return "the certificate was valid until " + c.NotAfter.UTC().Format(time.RFC3339)
	}
	return ""
}

func (r *Readers) allowed(ctx context.Context, from, token string) (bool, error) {
	key := sha256.Sum256([]byte(token))
	now := r.Clock.Now()
	r.mu.Lock()
	known, found := r.verdicts[key]
	fresh := found && now.Sub(known.at) < verdictHolds
	busy := !fresh && !known.allowed && !r.mayAsk(from, now)
	r.mu.Unlock()
	if fresh {
		return known.allowed, nil
	}
	if busy {
		return false, errBusy
	}
	allowed, err := r.ask(ctx, token)
	if err != nil && !apierrors.IsUnauthorized(err) && found && known.allowed && now.Sub(known.at) < verdictKeeps {
		return true, nil
	}
	if err != nil && !apierrors.IsUnauthorized(err) {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if apierrors.IsUnauthorized(err) {
		delete(r.verdicts, key) // it has been withdrawn, or is forged
		return false, err
	}
	r.keep(key, verdict{now, allowed})
	return allowed, nil
}

// mayAsk tells whether the cluster may be asked about a token that it has not allowed.
func (r *Readers) mayAsk(from string, now time.Time) bool {
	host, _, err := net.SplitHostPort(from)
	if err != nil {
		host = from
	}
	if r.reviews == nil {
		r.reviews = rate.NewLimiter(reviewRate, reviewBurst)
	}
	own := r.askers[host]
	if own == nil {
		if r.askers == nil || len(r.askers) >= maxAskers {
			r.askers = map[string]*rate.Limiter{}
		}
		own = rate.NewLimiter(askerRate, askerBurst)
		r.askers[host] = own
	}
	return own.AllowN(now, 1) && r.reviews.AllowN(now, 1)
}

// keep remembers a verdict. Where there is no room, one goes that did not allow, or else the oldest.
func (r *Readers) keep(key [sha256.Size]byte, v verdict) {
	if r.verdicts == nil {
		r.verdicts = map[[sha256.Size]byte]verdict{}
	}
	if _, known := r.verdicts[key]; !known && len(r.verdicts) >= maxVerdicts {
		var out [sha256.Size]byte
		var worst *verdict
		for k, old := range r.verdicts {
			if worst == nil || worst.allowed && !old.allowed || worst.allowed == old.allowed && old.at.Before(worst.at) {
				out, worst = k, &old
			}
		}
		delete(r.verdicts, out)
	}
	r.verdicts[key] = v
}

// ask asks the cluster in the name of the token.
func (r *Readers) ask(ctx context.Context, token string) (bool, error) {
	config := rest.AnonymousClientConfig(r.Config)
	config.BearerToken = token
	config.Timeout = reviewTimeout
	reviews, err := authorization.NewForConfig(config)
	if err != nil {
		return false, err
	}
	review, err := reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
