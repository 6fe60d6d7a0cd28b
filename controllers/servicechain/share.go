package servicechain

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sinter-nfv/sinter/api/v1alpha1"
	"github.com/sinter-nfv/sinter/controllers/scaling"
)

const (
	// groupAll is the one group, which has all shards.
	groupAll = "all"
	shards   = 128

	// patience is how long an instance may be not ready before its shards go to others.
	patience = 10 * time.Second
	// startTime is the same for one that never was.
	startTime = 2 * time.Minute
	// carry is how long the load of a shard that was handed over is what it was before, if its new owner
	// says less: that one reports every ten seconds at most.
	carry = 15 * time.Second
	// holdRollout is how long a rollout waits for shards that are being handed over.
	holdRollout = 2 * time.Minute
)

// sharing decides about the instances of a chain that share its state. It is kept for as long as the operator runs.
type sharing struct {
	*scaling.Scaler
	cores   map[types.UID][]v1alpha1.CoreStatus // as last reported
	carried map[scaling.Shard]carried
	untold  []scaling.Note     // changes that are not written yet
	handed  []scaling.Handover // that are written, and not told yet
	moving  time.Time          // since when shards are being handed over
	why     string             // the number of instances has changed last
}

// carried is the load of a shard by the report of who had it before.
type carried struct {
	work  float64
	until time.Time
}

func newSharing() *sharing {
	return &sharing{
		Scaler: scaling.NewScaler(scaling.DefaultPolicy), cores: map[types.UID][]v1alpha1.CoreStatus{}, carried: map[scaling.Shard]carried{},
	}
}

// share has as many instances as the load wants, and the chain's shards where they are borne. What goes with an
// instance is handed over before; what is new is there before anything is handed to it.
func (r *Reconciler) share(ctx context.Context, s *scope) error {
	for k := range s.instances {
		if s.instances[k].UID == "" {
			return nil // just made; it is seen with the next reconcile
		}
	}
	if s.target == nil || len(s.instances) == 0 {
		return nil
	}
	m := r.scalers.sharing(client.ObjectKeyFromObject(s.chain))
	in, err := m.see(s)
	if err != nil {
		return err
	}
	in.Hold = !s.settled(m)
	d := m.Decide(in)
	if d.Again > 0 {
		s.soon(d.Again)
	}
	m.untold = append(m.untold, d.Changes...)
	defer func() {
		v := scaled(&s.chain.Spec.Scaling, s.instances, d.Findings)
		s.verdicts.scaled = &v
	}()
	s.drains = map[string]bool{}
	for _, plan := range d.Plans {
		s.drains[plan.Pod] = plan.Drain
	}
	if err := r.assignShards(ctx, s, m, assign(in, d), d.Handovers); err != nil {
		return err
	}
	m.carry(in, d.Handovers)
	r.tellShares(s, m)
	if err := r.removeEmpty(ctx, s, m, d.Plans); err != nil {
		return err
	}
	if err := r.addInstances(ctx, s, m, d.Pods); err != nil {
		return err
	}
	m.untold = nil
	return nil
}

// settled tells whether shards may be handed over for the sake of load: neither are others on their way, nor is
// a program being brought to instances, for shards go between engines that run the same.
func (s *scope) settled(m *sharing) bool {
	moves := s.moves()
	if !moves {
		m.moving = time.Time{}
	} else if m.moving.IsZero() {
		m.moving = s.now
	}
	return !moves && s.status.Rollout == nil && len(others(s.instances, s.target.Name)) == 0
}

// moves tells whether a running instance still has shards that are to be another's.
func (s *scope) moves() bool {
	for k := range s.instances {
		i := &s.instances[k]
		if !i.Spec.Shared || !alive(s.pods[i.Name], i) {
			continue // what it said that it had is lost
		}
		own, err := numbers(i.Spec.Groups)
		if err != nil {
			continue
		}
		has, err := numbers([]v1alpha1.InstanceGroup{{Name: groupAll, Shards: i.Status.Shards}})
		if err == nil && slices.ContainsFunc(has, func(n int) bool { return !slices.Contains(own, n) }) {
			return true
		}
	}
	return false
}

// handingOver tells whether a rollout is to wait, as shards are being handed over.
func (r *Reconciler) handingOver(s *scope) bool {
	if !s.chain.Spec.Scaling.Shared() || !s.moves() {
		return false
	}
	m := r.scalers.sharing(client.ObjectKeyFromObject(s.chain))
	if m.moving.IsZero() {
		m.moving = s.now
	}
	left := m.moving.Add(holdRollout).Sub(s.now)
	if left > 0 {
		s.soon(left)
	}
	return left > 0
}

// see is what is to be decided. Packets count once, when they are reported.
func (m *sharing) see(s *scope) (scaling.Input, error) {
	in := scaling.Input{Now: s.now, Bounds: scaling.BoundsOf(&s.chain.Spec.Scaling)}
	for n := range shards {
		in.Shards = append(in.Shards, scaling.Shard{Group: groupAll, Number: n})
	}
	cores := map[types.UID][]v1alpha1.CoreStatus{}
	for k := range s.instances {
		i := &s.instances[k]
		report, err := scaling.ReportOf(i)
		if err != nil {
			return in, fmt.Errorf("ChainInstance %s: %w", i.Name, err)
		}
		report.Cores, cores[i.UID] = scaling.CoresSince(m.cores[i.UID], i.Status.Cores), i.Status.Cores
		if !i.Spec.Shared {
			report.Shards = nil // its state is its own, and ends with its pod
		}
		for k := range report.Shards {
			l := &report.Shards[k]
			if c, ok := m.carried[l.Shard]; ok && s.now.Before(c.until) {
				l.Work = max(l.Work, c.work)
			}
		}
		ready, left := bears(i, s.pods[i.Name], s.now)
		if left > 0 {
			s.soon(left)
		}
		in.Pods = append(in.Pods, scaling.Pod{Name: i.Name, Node: i.Status.Node, Ready: ready, Cores: scaling.Working(i), Report: report})
	}
	m.cores = cores
	return in, nil
}

// carry has shards weigh as much with their new owner as they did before, until it reports.
func (m *sharing) carry(in scaling.Input, handed []scaling.Handover) {
	for shard, c := range m.carried {
		if !in.Now.Before(c.until) {
			delete(m.carried, shard)
		}
	}
	works := map[scaling.Shard]float64{}
	for _, p := range in.Pods {
		for _, l := range p.Report.Shards {
			works[l.Shard] = l.Work
		}
	}
	for _, h := range handed {
		m.carried[h.Shard] = carried{works[h.Shard], in.Now.Add(carry)}
	}
}

// alive tells whether an instance's pod may have an engine.
func alive(pod *corev1.Pod, i *v1alpha1.ChainInstance) bool {
	return pod != nil && metav1.IsControlledBy(pod, i) && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// bears tells whether an instance takes packets, or will before it is worth to have others take its shards; and
// after what time that is to be asked again.
func bears(i *v1alpha1.ChainInstance, pod *corev1.Pod, now time.Time) (bool, time.Duration) {
	c := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionReady)
	stays := alive(pod, i) && pod.DeletionTimestamp.IsZero()
	var left time.Duration
	switch {
	case !i.Spec.Shared:
		return false, 0
	case stays && c != nil && c.Status == isTrue:
		return true, 0
	case len(i.Spec.Groups) == 0:
		return false, 0
	case i.Status.LastReportTime.IsZero():
		left = i.CreationTimestamp.Add(startTime).Sub(now)
	case stays && c != nil && c.Reason == v1alpha1.ReasonNotReported && !meta.IsStatusConditionFalse(i.Status.Conditions, v1alpha1.ConditionProgrammed):
		return true, 0 // a program is brought to it, with a deadline of its own; the one before goes on
	case stays && c != nil:
		left = c.LastTransitionTime.Add(patience).Sub(now)
	}
	return left > 0, max(left, 0)
}

// assign says which groups each instance has from now on, by its name.
func assign(in scaling.Input, d scaling.Decision) map[string][]v1alpha1.InstanceGroup {
	groups := map[string][]v1alpha1.InstanceGroup{}
	for _, plan := range d.Plans {
		plan.Cores = max(plan.Cores, in.Bounds.MinCores)
		groups[plan.Pod] = plan.Groups()
	}
	return groups
}

// assignShards writes who has which shards, where the others are, and who is the front. Who gets some is told first: it asks for
// them, while the giver would take back what it gave if the other was not told yet. So is the front: better two answer than none.
func (r *Reconciler) assignShards(ctx context.Context, s *scope, m *sharing, groups map[string][]v1alpha1.InstanceGroup, handed []scaling.Handover) error {
	front, before, moved := s.front(), "", false
	var order []*v1alpha1.ChainInstance
	for k := range s.instances {
		order = append(order, &s.instances[k])
	}
	gets := func(i *v1alpha1.ChainInstance) int {
		if i.Name == front || slices.ContainsFunc(handed, func(h scaling.Handover) bool { return h.To == i.Name }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b *v1alpha1.ChainInstance) int { return cmp.Compare(gets(a), gets(b)) })
	first := true
	for _, i := range order {
		if !i.Spec.Shared {
			continue // its pod is to be another one first
		}
		had := scaling.Working(i)
		spec := *i.Spec.DeepCopy()
		spec.Groups = owned(groups[i.Name], int(spec.Cores))
		spec.Peers = s.peers(i, groups)
		spec.Front = i.Name == front
		if moved = moved || spec.Front != i.Spec.Front; i.Spec.Front && !spec.Front {
			before = i.Name
		}
		if equality.Semantic.DeepEqual(spec, i.Spec) {
			continue
		}
		if err := r.writeInstance(ctx, s, i, spec); err != nil {
			return err
		}
		if first {
			m.handed, first = append(m.handed, handed...), false
		}
		if has := scaling.Working(i); had > 0 && has > 0 && has != had {
			r.tell(s, i, take(&m.untold, i.Name), has > had)
		}
	}
	if moved {
		r.event(s, nil, normal, "FrontMoved", "Scale", "instance %s answers ARP for the chain's addresses from now on: %s", front, s.whyNotFront(before))
	}
	return nil
}

// owned are groups with no more cores than the pod owns.
func owned(groups []v1alpha1.InstanceGroup, cores int) []v1alpha1.InstanceGroup {
	for k := range groups {
		groups[k].Cores = groups[k].Cores[:min(len(groups[k].Cores), cores)]
	}
	return groups
}

// take gives the notes about a pod (empty: about the chain), and leaves the others.
func take(notes *[]scaling.Note, pod string) (taken []scaling.Note) {
	*notes = slices.DeleteFunc(*notes, func(n scaling.Note) bool {
		if n.Pod == pod {
			taken = append(taken, n)
		}
		return n.Pod == pod
	})
	return taken
}

// peers are an instance's peers: all others.
func (s *scope) peers(of *v1alpha1.ChainInstance, groups map[string][]v1alpha1.InstanceGroup) []v1alpha1.InstancePeer {
	var list []v1alpha1.InstancePeer
	for k := range s.instances {
		i := &s.instances[k]
		if i.Name == of.Name || !i.Spec.Shared {
			continue
		}
		p := v1alpha1.InstancePeer{Name: i.Name, Interfaces: i.Status.Interfaces}
		if pod := s.pods[i.Name]; alive(pod, i) && pod.Status.PodIP != "" {
			p.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(v1alpha1.PeersPort))
		}
		for _, g := range groups[i.Name] {
			p.Shards = append(p.Shards, g.Shards...)
		}
		list = append(list, p)
	}
	return list
}

// tellShares tells what changed hands.
func (r *Reconciler) tellShares(s *scope, m *sharing) {
	type pair struct{ from, to string }
	byPair := map[pair][]int{}
	for _, h := range m.handed {
		p := pair{h.From, h.To}
		byPair[p] = append(byPair[p], h.Shard.Number)
	}
	var says []string
	for p, list := range byPair {
		runs := make([]string, 0, len(list))
		for _, run := range scaling.Ranges(list) {
			runs = append(runs, string(run))
		}
		from := "from " + p.from
		if p.from == "" {
			from = "that nobody had"
		}
		says = append(says, fmt.Sprintf("shards %s %s go to instance %s: %s", strings.Join(runs, ","), from, p.to, s.whyFrom(p.from)))
	}
	slices.Sort(says)
	for _, text := range says {
		r.event(s, nil, normal, "ShardsHandedOver", "Scale", "%s", text)
	}
	m.handed = nil
}

// whyFrom is why shards leave an instance.
func (s *scope) whyFrom(name string) string {
	for k := range s.instances {
		i := &s.instances[k]
		if i.Name != name {
			continue
		}
		switch ok, _ := bears(i, s.pods[name], s.now); {
		case !ok && !alive(s.pods[name], i):
			return "its pod is gone, and their sessions with it"
		case !ok:
			return "it does not take packets"
		case s.drains[name]:
			return "it is to go"
		}
		return "the load is divided"
	}
	return "they are to be somewhere"
}

// removeEmpty deletes the instances that are to go and have nothing more.
func (r *Reconciler) removeEmpty(ctx context.Context, s *scope, m *sharing, plans []scaling.PodPlan) error {
	for _, n := range m.untold {
		if n.Pod == "" {
			m.why = n.Message // the last time that their number changed
		}
	}
	kept := s.instances[:0:0]
	for k := range s.instances {
		i := &s.instances[k]
		if !plans[k].Drain || !empty(i, s.pods[i.Name]) {
			kept = append(kept, *i)
			continue
		}
		if err := r.delete(ctx, i); err != nil {
			return err
		}
		r.event(s, i, normal, "InstanceRemoved", "Scale", "instance %s has no shards any more and goes: %s", i.Name, cmp.Or(m.why, "so many are not needed"))
	}
	s.instances = kept
	return nil
}

// empty tells whether an instance has no shards, and none on their way to it.
func empty(i *v1alpha1.ChainInstance, pod *corev1.Pod) bool {
	if len(i.Spec.Groups) > 0 {
		return false
	}
	return !i.Spec.Shared || !alive(pod, i) || i.Status.LastReportTime.IsZero() ||
		i.Status.ObservedGeneration >= i.Generation && len(i.Status.Shards) == 0
}

// addInstances makes those that are missing. They have no shards until they are ready.
func (r *Reconciler) addInstances(ctx context.Context, s *scope, m *sharing, wanted int) error {
	if len(s.instances) >= wanted || s.bindings == nil {
		return nil
	}
	for _, name := range s.missing(wanted) {
		spec := specOf(s.chain, s.target, s.bindings, 0)
		i := v1alpha1.ChainInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.chain.Namespace, Name: name}}
		if err := r.writeInstance(ctx, s, &i, spec); err != nil {
			return err
		}
		s.instances = append(s.instances, i)
		r.event(s, &i, normal, "InstanceAdded", "Scale", "instance %s with program %s on %s: %s", name, spec.Program, count(int(spec.Cores), "core"), cmp.Or(m.why, "so many are wanted"))
	}
	return nil
}

// missing are the lowest names that are free, as many as lack.
func (s *scope) missing(wanted int) (names []string) {
	taken := map[string]bool{}
	for k := range s.instances {
		taken[s.instances[k].Name] = true
	}
	for k := 0; len(s.instances)+len(names) < wanted; k++ {
		if name := instanceName(s.chain.Name, k); !taken[name] {
			names = append(names, name)
		}
	}
	return names
}

// dealt are the shards of instance k of n of a new chain.
func dealt(k, n int) []v1alpha1.ShardRange {
	var list []int
	for shard := k * shards / n; shard < (k+1)*shards/n; shard++ {
		list = append(list, shard)
	}
	return scaling.Ranges(list)
}

// numbers are the numbers of groups' shards.
func numbers(groups []v1alpha1.InstanceGroup) ([]int, error) {
	list, err := scaling.ShardsOf(groups)
	out := make([]int, len(list))
	for k, s := range list {
		out[k] = s.Number
	}
	return out, err
}
