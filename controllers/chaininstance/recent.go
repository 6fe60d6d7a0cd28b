package chaininstance

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recent remembers pods that were made and that the cache does not show yet, so that what
// they were promised is not promised again. Its lock makes decisions follow one another.
type recent struct {
	sync.Mutex
	pods map[types.UID]*corev1.Pod
}

// forgetAfter bounds how long a cache is believed to be behind.
const forgetAfter = time.Minute

func (r *recent) add(p *corev1.Pod) {
	if r.pods == nil {
		r.pods = map[types.UID]*corev1.Pod{}
	}
	r.pods[p.UID] = p
}

// shown forgets a pod that the cache shows: from now on it can also be gone again.
func (r *recent) shown(p *corev1.Pod) {
	r.Lock()
	defer r.Unlock()
	delete(r.pods, p.UID)
}

// unseen are the pods that the cache does not show.
func (r *recent) unseen(ctx context.Context, cache client.Reader, now time.Time) ([]corev1.Pod, error) {
	var out []corev1.Pod
	for uid, p := range r.pods {
		var seen corev1.Pod
		err := cache.Get(ctx, client.ObjectKeyFromObject(p), &seen)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err == nil && seen.UID == uid, now.Sub(p.CreationTimestamp.Time) > forgetAfter:
			delete(r.pods, uid)
		default:
			out = append(out, *p)
		}
	}
	return out, nil
}
