package telemetry

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/apply"
	configuration "github.com/sinter-nfv/sinter/api/applyconfiguration/api/v1alpha1"
	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/dataplane/agent/loop"
	"github.com/sinter-nfv/sinter/dataplane/agent/rollout"
)

// FieldManager owns what the agent writes.
const FieldManager = "sinter-agent"

const writeTimeout = 10 * time.Second

// Reporter writes the status of a ChainInstance by server-side apply.
type Reporter struct {
	client   client.Client
	instance client.ObjectKey
	clock    clock.PassiveClock
	log      logr.Logger
	pacer    Pacer
	begun    bool
	uid      types.UID
	before   []metav1.Condition // as last written
	lost     lostSessions
	urgent   uint64 // urgent steps that were told
	Writes   loop.Counts
}

// lostSessions adds what this agent saw of lost sessions to what those before it reported.
type lostSessions struct {
	before  int64 // this agent
	settled bool  // whether its predecessor's last sessions are among them, or live on
}

// sum is known once an engine was met: one without a program is the first of its pod, and took nothing over.
func (l *lostSessions) sum(s *rollout.State, reported *v1alpha1.ChainInstanceStatus) int64 {
	if !l.settled {
		l.before = reported.LostSessions
		if s.Empty > 0 {
			l.before += reported.Sessions
		}
		l.settled = s.Engine == nil
	}
	return l.before + s.Lost
}

// NewReporter makes a reporter of an instance.
func NewReporter(c client.Client, instance client.ObjectKey, clock clock.PassiveClock, log logr.Logger) *Reporter {
	return &Reporter{client: c, instance: instance, clock: clock, log: log}
}

// Step writes a status if it is worth it.
func (r *Reporter) Step(ctx context.Context, s *Seen) {
	if instance := s.State.Wanted.Instance; instance.UID != r.uid || !r.begun {
		r.pacer.Forget()
		r.begun, r.uid, r.before, r.lost = true, instance.UID, instance.Status.Conditions, lostSessions{}
	}
	status := s.Status(r.before)
	status.LostSessions = r.lost.sum(&s.State, &s.State.Wanted.Instance.Status)
	now := r.clock.Now()
	due := r.pacer.Due(now, &status, s.Balance.Urgent > r.urgent)
	if !due && (!s.Draining || !r.pacer.LastWords(now, &status)) {
		return
	}
	if err := r.write(ctx, &status); err != nil {
		r.Writes.Failed.Add(1)
		r.pacer.Failed(now)
		r.log.Error(err, "status cannot be written")
		return
	}
	r.Writes.Done.Add(1)
	r.before, r.urgent = status.Conditions, s.Balance.Urgent
	r.pacer.Written(now, &status)
}

func (r *Reporter) write(ctx context.Context, status *v1alpha1.ChainInstanceStatus) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	fields, err := apply.From[configuration.ChainInstanceStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	o := configuration.ChainInstance(r.instance.Name, r.instance.Namespace).WithUID(r.uid).WithStatus(fields)
	return apply.Status(ctx, r.client, FieldManager, o)
}
