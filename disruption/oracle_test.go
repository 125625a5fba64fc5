package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// answerOf is what the oracle says about one budget.
type answerOf struct {
	numbers   Counts
	disrupted []string
	recheck   time.Time
	failure   string
	needs     int
}

// oracle works the rules off one after the other, for one budget, by going through everything each
// time. It knows no index, and snapshots without nil pointers and duplicates only.
func oracle(s Snapshot, b *policyv1.PodDisruptionBudget, o Options) answerOf {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return answerOf{failure: err.Error()}
	}
	var covered []*corev1.Pod
	for _, p := range s.Pods {
		if p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
			covered = append(covered, p)
		}
	}
	slices.SortFunc(covered, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })

	var v answerOf
	expected := int64(len(covered))
	percentage := b.Spec.MinAvailable != nil && b.Spec.MinAvailable.StrVal != ""
	if b.Spec.MaxUnavailable != nil || percentage {
		sum, failure, needs := oracleScale(s, covered, o)
		zero := b.Spec.MaxUnavailable != nil && (b.Spec.MaxUnavailable.String() == "0" || b.Spec.MaxUnavailable.String() == "0%")
		switch {
		case failure != "" && zero && !o.matchUpstream(): // D-13
		case failure != "":
			return answerOf{failure: failure}
		case needs > 0:
			return answerOf{needs: needs}
		default:
			expected = sum
		}
	} else if b.Spec.MinAvailable == nil {
		expected = 0
	}
	amount := func(text string, isNumber bool, number int32, up bool) (int64, bool) {
		if isNumber {
			return int64(number), true
		}
		var percent int64
		if n, _ := fmt.Sscanf(text, "%d%%", &percent); n != 1 {
			return 0, false
		}
		share := float64(percent) * float64(expected) / 100
		if up {
			return int64(math.Ceil(share)), true
		}
		return int64(math.Floor(share)), true
	}
	desired := int64(0)
	if m := b.Spec.MaxUnavailable; m != nil {
		n, ok := amount(m.StrVal, m.StrVal == "", m.IntVal, o.MaxUnavailableRounding == RoundUp)
		if !ok {
			return answerOf{failure: "invalid value for IntOrString"}
		}
		if desired = expected - n; o.matchUpstream() {
			desired = int64(int32(desired))
		}
		desired = max(0, desired)
	} else if m := b.Spec.MinAvailable; m != nil {
		n, ok := amount(m.StrVal, m.StrVal == "", m.IntVal, true)
		if !ok {
			return answerOf{failure: "invalid value for IntOrString"}
		}
		desired = n
	}

	healthy := int64(0)
	for _, p := range covered {
		ready := false
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady {
				ready = c.Status == corev1.ConditionTrue
				break
			}
		}
		at, listed := b.Status.DisruptedPods[p.Name]
		if !o.matchUpstream() && p.CreationTimestamp.Time.After(at.Time) && !p.CreationTimestamp.After(s.Now) { // D-14, D-24
			listed = false
		}
		age := s.Now.Sub(at.Time)
		going := listed && age < 2*time.Minute && p.DeletionTimestamp == nil
		stays := going || o.matchUpstream() && listed && age == 2*time.Minute && p.DeletionTimestamp == nil // D-19
		if stays {
			v.disrupted = append(v.disrupted, p.Name)
			next := at.Add(2 * time.Minute)
			if next.Equal(s.Now) {
				next = s.Now.Add(1)
			}
			if v.recheck.IsZero() || next.Before(v.recheck) {
				v.recheck = next
			}
		}
		if ready && !going && p.DeletionTimestamp == nil {
			healthy++
		}
	}
	allowed := max(0, healthy-desired)
	if expected <= 0 {
		allowed = 0
	}
	v.numbers = Counts{
		ExpectedPods: int32(min(expected, math.MaxInt32)), DesiredHealthy: int32(min(desired, math.MaxInt32)),
		CurrentHealthy: int32(healthy), DisruptionsAllowed: int32(allowed),
	}
	return v
}

func oracleScale(s Snapshot, covered []*corev1.Pod, o Options) (sum int64, failure string, needs int) {
	scales := map[string]int32{}
	unknown := map[purekube.Need]bool{}
	for _, p := range covered {
		ref := metav1.GetControllerOf(p)
		if ref == nil {
			continue
		}
		itself := oracleID(o, ref.UID, ref.Kind, groupOf(ref.APIVersion), ref.Name)
		_, counted := scales[itself]
		if counted && o.matchUpstream() {
			continue
		}
		id, scale, err, need := oracleFind(s, p.Namespace, *ref, o)
		switch {
		case failure != "":
		case err != "":
			failure = err
		case need != nil:
			if !counted {
				unknown[*need] = true
			}
		case id == "":
			failure = fmt.Sprintf("found no controllers for pod %q", p.Name)
		case o.matchUpstream():
			scales[id] = scale
		default: // an object and the answer to a lookup may be of two moments
			if known, counted := scales[id]; !counted || scale > known {
				scales[id] = scale
			}
		}
	}
	if len(unknown) > 0 {
		return 0, "", len(unknown)
	}
	for _, scale := range scales {
		sum += int64(scale)
	}
	if o.matchUpstream() {
		sum = int64(int32(sum))
	}
	return sum, failure, 0
}

// oracleID tells controllers apart (D-39). apps had the name extensions.
func oracleID(o Options, uid types.UID, kind, group, name string) string {
	if o.matchUpstream() {
		return string(uid)
	}
	if group == "extensions" || group == "apps" {
		group = ""
	}
	return strings.Join([]string{string(uid), kind, group, name}, "/")
}

func oracleFind(s Snapshot, namespace string, ref metav1.OwnerReference, o Options) (string, int32, string, *purekube.Need) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", 0, err.Error(), nil
	}
	is := func(o metav1.Object, name string, uid types.UID) bool {
		return o.GetNamespace() == namespace && o.GetName() == name && o.GetUID() == uid
	}
	replicasOf := func(replicas *int32) int32 {
		if replicas == nil {
			return 1
		}
		return *replicas
	}
	apps := gv.Group == "apps"
	if ref.Kind == "ReplicationController" && gv.Group == "" {
		for _, rc := range s.ReplicationControllers {
			if is(rc, ref.Name, ref.UID) {
				return oracleID(o, rc.UID, "ReplicationController", "", rc.Name), replicasOf(rc.Spec.Replicas), "", nil
			}
		}
	}
	if ref.Kind == "ReplicaSet" && (apps || gv.Group == "extensions") {
		replicaSets := s.ReplicaSets
		if !o.matchUpstream() { // D-22
			known := slices.ContainsFunc(replicaSets, func(rs *appsv1.ReplicaSet) bool { return is(rs, ref.Name, ref.UID) })
			k := objectNeed(namespace, ref.Name)
			answer, asked := oracleAnswer(s, k)
			switch {
			case known:
			case !asked:
				return "", 0, "", &k
			case answer.Err != nil:
				return "", 0, answer.Err.Error(), nil
			case answer.Object == nil || answer.Object.(*appsv1.ReplicaSet).UID != ref.UID:
				return "", 0, "", nil
			default:
				replicaSets = []*appsv1.ReplicaSet{answer.Object.(*appsv1.ReplicaSet)}
			}
		}
		for _, rs := range replicaSets {
			if !is(rs, ref.Name, ref.UID) {
				continue
			}
			owner := metav1.GetControllerOf(rs)
			if owner == nil {
				return oracleID(o, rs.UID, "ReplicaSet", "apps", rs.Name), replicasOf(rs.Spec.Replicas), "", nil
			}
			ogv, err := schema.ParseGroupVersion(owner.APIVersion)
			if err != nil {
				return "", 0, err.Error(), nil
			}
			if owner.Kind != "Deployment" {
				return oracleID(o, rs.UID, "ReplicaSet", "apps", rs.Name), replicasOf(rs.Spec.Replicas), "", nil
			}
			real := ogv.Group == "apps" || ogv.Group == "extensions"
			for _, d := range s.Deployments {
				if is(d, owner.Name, owner.UID) && real {
					return oracleID(o, d.UID, "Deployment", "apps", d.Name), replicasOf(d.Spec.Replicas), "", nil
				}
			}
			if o.matchUpstream() {
				break
			}
			if real { // D-22
				k := scaleNeed(ogv.Group, "Deployment", namespace, owner.Name)
				answer, asked := oracleAnswer(s, k)
				switch {
				case !asked:
					return "", 0, "", &k
				case answer.Err != nil:
					return "", 0, answer.Err.Error(), nil
				case answer.Object != nil && answer.Object.(*autoscalingv1.Scale).UID == owner.UID:
					return oracleID(o, owner.UID, "Deployment", "apps", owner.Name), answer.Object.(*autoscalingv1.Scale).Spec.Replicas, "", nil
				}
			}
			return oracleID(o, rs.UID, "ReplicaSet", "apps", rs.Name), replicasOf(rs.Spec.Replicas), "", nil
		}
	}
	if ref.Kind == "StatefulSet" && apps {
		for _, ss := range s.StatefulSets {
			if is(ss, ref.Name, ref.UID) {
				return oracleID(o, ss.UID, "StatefulSet", "apps", ss.Name), replicasOf(ss.Spec.Replicas), "", nil
			}
		}
	}
	k := scaleNeed(gv.Group, ref.Kind, namespace, ref.Name)
	answer, asked := oracleAnswer(s, k)
	switch {
	case !asked:
		if why := oracleScaleless(s, ref, gv.Group); why != "" {
			return "", 0, why, nil
		}
		return "", 0, "", &k
	case answer.Err != nil:
		return "", 0, answer.Err.Error(), nil
	case answer.Object != nil && answer.Object.(*autoscalingv1.Scale).UID == ref.UID:
		return oracleID(o, ref.UID, ref.Kind, gv.Group, ref.Name), answer.Object.(*autoscalingv1.Scale).Spec.Replicas, "", nil
	}
	return "", 0, "", nil
}

// oracleScaleless is why no object of the kind has a scale: it is a kind of Kubernetes without one, or another answer
// says so.
func oracleScaleless(s Snapshot, ref metav1.OwnerReference, group string) string {
	const none = "does not implement the scale subresource"
	for kind, resource := range map[string]string{"batch/v1/Job": "jobs.batch", "apps/v1/DaemonSet": "daemonsets.apps", "v1/Node": "nodes"} {
		if ref.APIVersion+"/"+ref.Kind == kind {
			return resource + " " + none
		}
	}
	workload := slices.Contains([]string{"apps", "extensions", ""}, group) &&
		slices.Contains([]string{"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"}, ref.Kind)
	for _, n := range sortedNeeds(s.Answers) {
		if err := s.Answers[n].Err; err != nil && n.Kind == ref.Kind && groupOf(n.APIVersion) == group && n.Subresource != "" &&
			!workload && strings.HasSuffix(err.Error(), none) {
			return err.Error()
		}
	}
	return ""
}

// sortedNeeds are the needs by namespace, name and the rest.
func sortedNeeds(answers map[purekube.Need]purekube.Answer) []purekube.Need {
	return slices.SortedFunc(maps.Keys(answers), func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.APIVersion, b.APIVersion))
	})
}

// oracleAnswer is the answer to a lookup, whatever its version.
func oracleAnswer(s Snapshot, need purekube.Need) (purekube.Answer, bool) {
	for _, n := range sortedNeeds(s.Answers) {
		same := n
		same.APIVersion = need.APIVersion
		if same == need && groupOf(n.APIVersion) == groupOf(need.APIVersion) {
			return s.Answers[n], true
		}
	}
	return purekube.Answer{}, false
}
