package disruption

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

var (
	errNegative   = errors.New("must not be negative")
	errOutOfRange = errors.New("percentage out of range")
)

// BR-25-01 and BR-25-02: how many pods must stay healthy. An example with 7 pods:
//
//	minAvailable 30%               30% of 7 = 2.1, rounded up: 3 must stay healthy
//	maxUnavailable 30%             2.1, rounded up: 3 may be lost, 4 must stay healthy
//	maxUnavailable 30%, RoundDown  2.1, rounded down: 2 may be lost, 5 must stay healthy
//	minAvailable 5                 5, whatever the number of pods is
//
// Counts are computed in 64 bits and cut to 32 bits at the end (D-23). All doubts go toward fewer disruptions.

// scaleDecides is BR-25-01 and BR-25-02: whether expected is the sum of the scales of the pods' controllers, and not
// the number of pods. With both fields set, which the API server rejects, maxUnavailable counts, as in upstream's
// getExpectedPodCount.
func scaleDecides(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if spec.MaxUnavailable != nil {
		return true
	}
	return spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String
}

// desiredHealthy is [DesiredHealthy] for a sum in 64 bits. The error has the field and no object's name; decide adds
// the name, and DesiredHealthy has none to add.
func (o Options) desiredHealthy(spec *policyv1.PodDisruptionBudgetSpec, expected int64) (int32, *purekube.ObjectError) {
	switch {
	case spec.MaxUnavailable != nil:
		n, err := o.share(spec.MaxUnavailable, expected, o.MaxUnavailableRounding != RoundDown)
		if err != nil {
			return 0, &purekube.ObjectError{Kind: budgetKind, Field: "spec.maxUnavailable", Err: err}
		}
		return max(0, o.fit(expected-n)), nil
	case spec.MinAvailable != nil && (spec.MinAvailable.Type == intstr.Int || spec.MinAvailable.Type == intstr.String):
		n, err := o.share(spec.MinAvailable, expected, true)
		if err != nil {
			return 0, &purekube.ObjectError{Kind: budgetKind, Field: "spec.minAvailable", Err: err}
		}
		return o.fit(n), nil
	}
	return 0, nil
}

// share is the number, or the percentage of total. The texts of errors are the library's, since they end up in the
// budget's condition. A percentage of a total of 0 is 0.
//
// The API server admits no negative number and no percentage beyond int32. Upstream computes with them: a negative
// minAvailable would allow more disruptions than there are pods.
func (o Options) share(v *intstr.IntOrString, total int64, roundUp bool) (int64, error) {
	if percentage, ok := strings.CutSuffix(v.StrVal, "%"); ok && v.Type == intstr.String {
		n, err := strconv.ParseInt(percentage, 10, 64)
		switch {
		case err == nil:
			return o.percentage(n, total, roundUp)
		case errors.Is(err, strconv.ErrRange) && !o.matchUpstream():
			return 0, errOutOfRange
		}
	}
	if v.IntVal < 0 && !o.matchUpstream() {
		return 0, errNegative
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, 0, roundUp) // the number, or why there is none
	return int64(n), err
}

// percentage is the library's formula in 64 bits. The library computes in int. Where that has 32 bits, 50 % of 2^32+2
// would be 1, and more could be evicted.
func (o Options) percentage(n, total int64, roundUp bool) (int64, error) {
	if !o.matchUpstream() {
		switch {
		case n < 0:
			return 0, errNegative
		case n > math.MaxInt32:
			return 0, errOutOfRange
		case n > 100 && total > math.MaxInt32:
			// More than there are, and already more than a count of the status can be: the exact product may be beyond 64 bits.
			return total, nil
		}
	}
	round := math.Floor
	if roundUp {
		round = math.Ceil
	}
	return int64(round(float64(n) * float64(total) / 100)), nil
}

// disruptionsAllowed is BR-25-03: how many healthy pods may be lost. It is 0 when no pods are expected, since the first
// pods may be there before the status is computed again (upstream: updatePdbStatus). With upstream's overflow, MaxInt32
// healthy pods and a desiredHealthy of -1 make a negative difference, which becomes 0.
func (o Options) disruptionsAllowed(currentHealthy, desiredHealthy, expected int32) int32 {
	if expected <= 0 {
		return 0
	}
	return max(0, o.fit(int64(currentHealthy)-int64(desiredHealthy)))
}

// entry says how a pod's entry in status.disruptedPods counts. The eviction handler adds an entry for each pod that it
// is about to delete.
type entry int

const (
	// noEntry: the pod is not in the list, or its entry no longer counts.
	noEntry entry = iota
	// keptEntry: the pod is about to be deleted; the entry stays until then, or until it is too old to count.
	keptEntry
	// overdueEntry: the pod was about to be deleted and never was.
	overdueEntry
)

// entryOf is BR-25-04: it classifies the entry of a pod that is in the snapshot (upstream: buildDisruptedPodMap). at is
// the time of the eviction, and until is the time from which the entry no longer counts. Both are zero for a pod
// without an entry.
//
//	eviction of s-0 at 12:00:00, deletion timeout 2 minutes
//	now 12:01:00, s-0 created at 11:00:00   keptEntry: about to be deleted
//	now 12:01:00, s-0 created at 12:00:30   noEntry: recreated since (D-14)
//	now 12:01:00, s-0 created at 12:01:30   keptEntry: the clocks differ (D-24)
//	now 12:02:00, s-0 created at 11:00:00   overdueEntry: it was not deleted (D-19)
func (o Options) entryOf(
	pod *corev1.Pod, disrupted map[string]metav1.Time, now time.Time,
) (e entry, at metav1.Time, until time.Time) {
	at, listed := disrupted[pod.Name]
	// A deletion timestamp is what the entry waits for. From then on the timestamp keeps the pod from being healthy.
	if !listed || pod.DeletionTimestamp != nil {
		return noEntry, at, until
	}
	until = at.Add(o.deletionTimeout())
	if o.matchUpstream() {
		// D-19: at exactly two minutes upstream keeps the entry and counts the pod.
		if until.Before(now) {
			return overdueEntry, at, until
		}
		return keptEntry, at, until
	}
	// D-14: a pod with this name was evicted before, and this pod is its successor. D-24: a creation time in the future
	// proves nothing about the order, since the clocks disagree.
	if pod.CreationTimestamp.After(at.Time) && !pod.CreationTimestamp.After(now) {
		return noEntry, at, until
	}
	if !until.After(now) {
		return overdueEntry, at, until
	}
	return keptEntry, at, until
}

// hasDisruptionTarget is BR-25-05: whether the pod's condition says that it is about to be deleted, although the pod is
// not being deleted and has not ended (upstream: nonTerminatingPodHasStaleDisruptionCondition).
func hasDisruptionTarget(pod *corev1.Pod) bool {
	condition := podstate.Condition(pod, corev1.DisruptionTarget)
	return condition != nil && condition.Status == corev1.ConditionTrue &&
		// The kubelet sets it long before the pod is deleted.
		condition.Reason != corev1.PodReasonTerminationByKubelet &&
		pod.DeletionTimestamp == nil && !podstate.Terminal(pod)
}

// targetStaleAt is BR-25-05: when the condition of a pod that hasDisruptionTarget becomes stale.
func (o Options) targetStaleAt(pod *corev1.Pod) time.Time {
	return podstate.Condition(pod, corev1.DisruptionTarget).LastTransitionTime.Add(o.staleDisruptionTimeout())
}

// unusablePod is BR-25-06: a pod whose controller is not known, because it is nil, has no name, or has the name of
// another pod. It may be the only pod of its controller, so that a sum of scales would lack a scale. A number as
// minAvailable needs no scales: there, a pod that is left out makes the status only stricter.
func (x *Index) unusablePod(namespace string) *purekube.ObjectError {
	for name := range x.pods.AmbiguousIn(namespace) {
		return snapshot.DuplicateError(podKind, name)
	}
	return x.pods.Unnamed(namespace)
}

// admitsReplicas is BR-25-06: whether a scale can be added up. A negative one would be subtracted from what the other
// workloads want, and allow more disruptions. The API server rejects negative replicas, but a Scale of a custom
// resource has whatever its controller wrote.
func (o Options) admitsReplicas(n int32) bool { return n >= 0 || o.matchUpstream() }

// replicasOf is D-12: absent replicas are 1, the API's default. Upstream dereferences the nil pointer and panics;
// MatchUpstream does not follow it there.
func replicasOf(replicas *int32) int32 { return ptr.Deref(replicas, 1) }

// forbidsAll reports whether no pod may be disrupted that a controller wants: maxUnavailable 0 or 0%. The scales
// are asked all the same, since pods beyond what the controllers want may be disrupted.
func forbidsAll(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if spec.MaxUnavailable == nil {
		return false
	}
	if spec.MaxUnavailable.Type == intstr.Int {
		return spec.MaxUnavailable.IntVal == 0
	}
	percentage, ok := strings.CutSuffix(spec.MaxUnavailable.StrVal, "%")
	n, err := strconv.Atoi(percentage)
	return ok && err == nil && n == 0
}

// forbidsAtAnyScale reports whether the budget allows no disruption at any scale, unless there are more pods than the
// controllers want. A value that is an error is one of these budgets: its status is the fail-safe status at any scale.
func (o Options) forbidsAtAnyScale(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if _, problem := o.desiredHealthy(spec, 1); problem != nil {
		return true
	}
	switch {
	case spec.MaxUnavailable != nil:
		return forbidsAll(spec)
	case spec.MinAvailable == nil:
		return true
	case spec.MinAvailable.Type != intstr.String:
		return false
	}
	// There is no error: desiredHealthy has read the percentage.
	percentage, _ := strconv.Atoi(strings.TrimSuffix(spec.MinAvailable.StrVal, "%"))
	return percentage >= 100
}

// countsPods is D-13: whether the number of existing pods replaces a sum of scales that cannot be computed. With
// maxUnavailable 0 no pod may be disrupted that a controller wants, and at most, all pods are wanted.
func (o Options) countsPods(spec *policyv1.PodDisruptionBudgetSpec) bool {
	return forbidsAll(spec) && !o.matchUpstream()
}

// notDeletedBy is D-15: the budget in the event NotDeleted. Upstream's buildDisruptedPodMap formats the namespace
// twice, so the event of every budget in a namespace looks the same.
func (o Options) notDeletedBy(b *policyv1.PodDisruptionBudget) string {
	if o.matchUpstream() {
		return b.Namespace + "/" + b.Namespace
	}
	return b.Namespace + "/" + b.Name
}

// repeatsFailure is D-18: whether a fail-safe status that is already written is written again. Upstream sends an update
// at each event of each pod of such a budget.
func (o Options) repeatsFailure() bool { return o.matchUpstream() }

// looksUpOwners is D-22: whether a ReplicaSet that a pod names and a Deployment that a ReplicaSet names are looked up
// if the snapshot lacks them, as only the owner says whose scale counts. Upstream reads the scale of the ReplicaSet: in
// the middle of a rollout it has fewer replicas than the Deployment. With 4 wanted, 3 in this ReplicaSet and
// maxUnavailable 1, the scale of the ReplicaSet allows one disruption too many.
func (o Options) looksUpOwners() bool { return !o.matchUpstream() }

// fit is D-23: it converts an exact count to a count of the status, which has 32 bits. Upstream wraps around, so that
// two workloads of 2^31−1 replicas are −2 pods and four are −4; here the result stays at the largest number of 32 bits,
// which allows no more disruptions than the exact count would.
func (o Options) fit(n int64) int32 {
	if o.matchUpstream() {
		return int32(n)
	}
	return int32(min(max(n, math.MinInt32), math.MaxInt32))
}

// total is D-23: the sum of scales as the status is computed from it. Upstream adds int32 numbers.
func (o Options) total(sum int64) int64 {
	if o.matchUpstream() {
		return int64(int32(sum))
	}
	return sum
}

// repeatsEvents is D-29: whether events are recorded although nothing is written with them. Nothing would then show
// that they were recorded before: every pass over an unused budget would record the same NoPods, and every pass over a
// pod that two budgets select the same MultiplePodDisruptionBudgets. CheckEviction and Explain give the same
// information.
func (o Options) repeatsEvents() bool { return o.matchUpstream() }

// eventText is the message of an event, cut to the limit of events.k8s.io/v1: the selector in the event UnmanagedPods
// is as long as a user makes it, and the API server rejects a longer note.
func (o Options) eventText(text string) string {
	if o.matchUpstream() {
		return text
	}
	return message.Event(text)
}

// id is D-39: it tells controllers apart, by all but the scale. Upstream does so by the UID. Manifests that no API
// server has seen have no UIDs: there, kind, group and name do it in any case. Without that, a Deployment and a
// StatefulSet in one file would be one controller, and the sum would be too small.
func (o Options) id(c controller) controller {
	if o.matchUpstream() && c.uid != "" {
		return controller{uid: c.uid}
	}
	c.scale = 0
	return c
}

// orderDecides is D-39: whether the order of the pods can decide what their controllers want in sum. Upstream counts,
// of two references with one UID, the one whose pod it visits first.
func (o Options) orderDecides() bool { return o.matchUpstream() }

// affectsAll is which budgets an event of a pod affects: all that select it, also if they count it as before, which
// upstream does not find out.
func (o Options) affectsAll() bool { return o.matchUpstream() }
