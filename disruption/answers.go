package disruption

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// Answers to lookups, arranged for two questions: what did the lookup of this controller say (find), and does any
// answer say that a whole kind has no scale (whyScaleless). The caller gives a map of Needs; a plan makes equal Needs
// for equal references, so an exact search would do but for the version. A pod that names "apps/v1beta1 Deployment web"
// is served by an answer for apps/v1, since a scale has no version.

// answers are the answers to lookups. The value never changes, and the caller's map is not kept.
type answers struct {
	all *persistent.Map[lookupKey, purekube.Answer]
	// scaleless are the answers which say that their kind has no scale.
	scaleless *persistent.Map[lookupKey, string]
}

// lookupKey is a Need in the order in which answers are found: lookups of one kind together, and the version compared
// last. The answers to one lookup in several versions are then next to each other, and so are the scaleless answers of
// a kind.
type lookupKey struct{ group, kind, subresource, namespace, name, version string }

const scaleSubresource = "scale"

// lookupKeyOf splits the apiVersion. The version is the text after the last slash, which is all of "v1".
func lookupKeyOf(n purekube.Need) lookupKey {
	group, version := groupOf(n.APIVersion), n.APIVersion[strings.LastIndexByte(n.APIVersion, '/')+1:]
	return lookupKey{group, n.Kind, n.Subresource, n.Namespace, n.Name, version}
}

// unversioned is the lookup in any version.
func (l lookupKey) unversioned() lookupKey {
	l.version = ""
	return l
}

// groupKind is the kind that a "no scale" answer speaks about, in any version.
func (l lookupKey) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: l.group, Kind: l.kind}
}

func compareLookupKeys(a, b lookupKey) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.kind, b.kind), cmp.Compare(a.subresource, b.subresource),
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
}

// newAnswers sorts a snapshot's answers. A nil map gives no answers.
func newAnswers(list map[purekube.Need]purekube.Answer) answers {
	none := answers{persistent.NewMap[lookupKey, purekube.Answer](compareLookupKeys),
		persistent.NewMap[lookupKey, string](compareLookupKeys)}
	all, _, _ := none.changed(list, true)
	return all
}

// find returns the answer to the lookup, whatever its version; the first version in alphabetical order, if there are
// several. found with the zero Answer means that the API server has no such object. Not found means that nobody asked.
func (w answers) find(l lookupKey) (answer purekube.Answer, found bool) {
	at, answer, found := w.all.Ceiling(l.unversioned())
	if !found || at.unversioned() != l.unversioned() {
		return purekube.Answer{}, false
	}
	return answer, true
}

// changed returns the answers with these added, or without the answers to the same needs. It also returns the lookups
// whose answer now says something else, and the kinds about which the answers do.
func (w answers) changed(
	by map[purekube.Need]purekube.Answer, keep bool,
) (next answers, changes []lookupKey, kinds []schema.GroupKind) {
	if len(by) == 0 {
		return w, nil, nil
	}
	all, scaleless := w.all.Edit(), w.scaleless.Edit()
	var lookups []lookupKey
	for need, answer := range by {
		l := lookupKeyOf(need)
		lookups = append(lookups, l.unversioned())
		// The entry is rebuilt below, if the new answer still says so.
		scaleless.Delete(l)
		if !keep {
			all.Delete(l)
			continue
		}
		all.Set(l, answer)
		if saysNoScale(l, answer) {
			scaleless.Set(l, answer.Err.Error())
		}
	}
	next = answers{all.Map(), scaleless.Map()}
	slices.SortFunc(lookups, compareLookupKeys)
	for _, l := range slices.Compact(lookups) {
		// The comparison is by what find returns and not by the entry that was written: a new answer for v2 changes
		// nothing while an answer for v1 comes first.
		before, had := w.find(l)
		after, has := next.find(l)
		if had != has || !sameAnswer(before, after) {
			changes = append(changes, l)
		}
		// Each kind once: thousands of answers can say it of one kind, and each look at it is at all of its objects.
		if kind := l.groupKind(); len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	return next, changes, slices.DeleteFunc(kinds, func(kind schema.GroupKind) bool {
		return w.whyScaleless(kind) == next.whyScaleless(kind)
	})
}

// sameAnswer reports whether two answers say the same. Errors are compared by their text, which becomes part of the
// budget's condition: an equal status follows from equal texts.
func sameAnswer(a, b purekube.Answer) bool {
	return (a.Err == nil) == (b.Err == nil) && fmt.Sprint(a.Err) == fmt.Sprint(b.Err) &&
		reflect.DeepEqual(a.Object, b.Object)
}

// objectOf returns the object that a lookup found, or nil if there is none, or the error why it is not available. An
// answer with both an object and an error is an error: the stricter reading. The object is the caller's; do not write
// to it.
func objectOf[T any](a purekube.Answer) (*T, error) {
	switch object, ok := a.Object.(*T); {
	case a.Err != nil:
		// The error itself is the caller's, and no result may alias the input. An empty text would make an empty
		// condition.
		return nil, errors.New(cmp.Or(a.Err.Error(), "no answer"))
	case a.Object == nil:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("the answer is a %T, want a %T", a.Object, object)
	case object == nil:
		return nil, fmt.Errorf("the answer is a nil %T", object)
	default:
		return object, nil
	}
}

// noScaleText ends upstream's error for a kind without the subresource scale. The resource comes before it.
const noScaleText = " does not implement the scale subresource"

// resourceWithoutScale is the resource of a kind of Kubernetes that controls pods and has no subresource scale in any
// supported release, and empty for every other kind. The version counts: upstream's error for a version that the API
// server does not serve is another one.
//
// The list saves lookups and decides nothing: the API server would give the same answer. A Node controls mirror pods.
func resourceWithoutScale(apiVersion, kind string) string {
	switch apiVersion + " " + kind {
	case "batch/v1 Job":
		return "jobs.batch"
	case "batch/v1 CronJob":
		return "cronjobs.batch"
	case "apps/v1 DaemonSet":
		return "daemonsets.apps"
	case "v1 Node":
		return "nodes"
	}
	return ""
}

// saysNoScale reports whether the answer is about the whole kind: the kind has no scale. Every release of the API
// server serves the scale of the kinds that a snapshot has, so no answer can say this about them. If a caller gives
// such an answer for one StatefulSet, it must not fail the budgets of all StatefulSets.
func saysNoScale(l lookupKey, a purekube.Answer) bool {
	if l.subresource != scaleSubresource || a.Err == nil || !strings.HasSuffix(a.Err.Error(), noScaleText) {
		return false
	}
	switch l.kind {
	case replicationControllerKind:
		return l.group != ""
	// ReplicaSet and Deployment of apps and extensions, and StatefulSet of apps, have a scale. A StatefulSet of
	// apps.kruise.io is a kind of its own.
	case replicaSetKind, deploymentKind, statefulSetKind:
		return !appsGroup(l.group) || l.kind == statefulSetKind && l.group != "apps"
	}
	return true
}

// whyScaleless is why no object of that kind has a scale, and empty if nothing says so. Of several answers the first by
// namespace and name counts, so that the text in a status does not depend on the order of the map.
func (w answers) whyScaleless(kind schema.GroupKind) string {
	l, why, _ := w.scaleless.Ceiling(lookupKey{group: kind.Group, kind: kind.Kind})
	if l.groupKind() != kind {
		return ""
	}
	return why
}

// withoutScale is why the controller of that reference has no scale, where that is known without a lookup. The text
// ends as upstream's in both cases, so a status is the same whether the kind is in the list or was looked up.
func (w answers) withoutScale(group string, ref *metav1.OwnerReference) string {
	if resource := resourceWithoutScale(ref.APIVersion, ref.Kind); resource != "" {
		return resource + noScaleText
	}
	return w.whyScaleless(schema.GroupKind{Group: group, Kind: ref.Kind})
}
