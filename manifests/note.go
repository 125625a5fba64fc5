package manifests

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/internal/message"
)

// Note is something that a reader of an answer should know about the input, but not an error: an object was read in
// part, or an answer depends on something that the input does not say.
type Note struct {
	// At is the first object that the note is about. It is zero for a note about the input as a whole.
	At Ref
	// Field is the path of the field, without the numbers of list items: "spec.containers[].newField". Empty: the object.
	Field string
	Text  string
	// Objects is how many objects the note is about: objects of one kind with the same field and text share a note.
	Objects int
}

// String reads "file:line: document N: Kind namespace/name: field: text (and N more objects)", without the parts that
// are empty.
func (n Note) String() string {
	text := n.Text
	if n.Objects > 1 {
		text += " (and " + message.Count(n.Objects-1, "more object") + ")"
	}
	return joined(n.At.String(), n.At.object(), n.Field, text)
}

// sameNote is what notes have in common if they become one note.
type sameNote struct {
	kind        schema.GroupKind
	field, text string
}

// addNote adds a note about one object, or counts one more object of a note that is there.
func (l *loader) addNote(n Note) {
	of := sameNote{n.At.GroupKind(), n.Field, n.Text}
	if l.notes == nil {
		l.notes = map[sameNote]int{}
	}
	if at, known := l.notes[of]; known {
		l.set.Notes[at].Objects++
		return
	}
	l.notes[of] = len(l.set.Notes)
	n.Objects = 1
	l.set.Notes = append(l.set.Notes, n)
}

// returned reports whether an API server returned the object: only it gives an object a UID and a version.
func returned(o metav1.Object) bool { return o.GetUID() != "" && o.GetResourceVersion() != "" }

// maxStrictErrors is how many errors about its fields the decoder reports of an object. Further ones it drops.
const maxStrictErrors = 100

// readWhole are the fields that a decision reads as a whole: what this build does not know of them could change the
// decision. The rules of a ClusterRole and the spec of a template are copied.
var readWhole = map[schema.GroupKind]*regexp.Regexp{
	PodDisruptionBudget:   regexp.MustCompile(`^spec($|\.)`),
	ServiceCIDR:           regexp.MustCompile(`^spec($|\.)`),
	ResourceClaim:         regexp.MustCompile(`^spec($|\.)`),
	ResourceClaimTemplate: regexp.MustCompile(`^spec($|\.)`),
	ClusterRole:           regexp.MustCompile(`^(aggregationRule|rules)($|[.[])`),
}

// podClaims are the fields of a pod that say which claims it uses, and with whom: spec.schedulingGroup is one that some
// builds do not know.
var podClaims = regexp.MustCompile(`^spec\.([^.[]+$|resourceClaims)`)

// decidesAbout is the kind of the objects that cannot be decided about without the field. It is empty if there are
// none.
func decidesAbout(o runtime.Object, field string) schema.GroupKind {
	kind := kindOf(o)
	if whole, found := readWhole[kind]; found && whole.MatchString(field) {
		return kind
	}
	if p, ok := o.(*corev1.Pod); ok && len(p.Spec.ResourceClaims) > 0 && podClaims.MatchString(field) {
		return ResourceClaim
	}
	return schema.GroupKind{}
}

var itemNumber = regexp.MustCompile(`\[\d+\]`)

// withoutNumbers is the path of a field, the same for all items of a list.
func withoutNumbers(field string) string { return itemNumber.ReplaceAllString(field, "[]") }
