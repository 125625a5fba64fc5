package manifests

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// scheme has the kinds of the API groups that a Set has objects of.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}()

// decoder reads JSON alone, which every object of the input is by then. A decoder of all formats would keep the code of
// protobuf of every type in each program that imports the package.
var decoder = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme,
	serializer.SerializerOptions{Strict: true})

// versionOf is the API version that each kind is read in.
var versionOf = func() map[string]schema.GroupVersion {
	versions := map[string]schema.GroupVersion{}
	for _, kind := range Kinds() {
		for _, gv := range scheme.PrioritizedVersionsForGroup(kind.Group) {
			if reads(gv.WithKind(kind.Kind)) {
				versions[kind.Kind] = gv
			}
		}
	}
	return versions
}()

// reads reports whether objects of this version and kind go into a Set as they are.
func reads(gvk schema.GroupVersionKind) bool {
	empty, err := scheme.New(gvk)
	return err == nil && !kindOf(empty).Empty()
}

// decoded is what one object of the input became: an object, an object to ignore, or errors.
type decoded struct {
	at     Ref
	object runtime.Object
	custom *CustomWorkload
	scaled *ScaledObject
	// ignored: no package reads the kind in this API group.
	ignored bool
	errs    []*Error
	notes   []Note
	// untyped is an item of a list without apiVersion and kind: the list says what it is.
	untyped []byte
	// around is the list that the items before it came from.
	around *listHead
	// isList: this is a list without its items. list is the kind of the items of a list of one kind, which may be empty.
	isList bool
	list   schema.GroupKind
	// waits: this is an item, and the list that it is in has not been read to its end.
	waits bool
}

// anyKind is the kind of an object that may be of any kind.
var anyKind = schema.GroupKind{}

// fail notes what is wrong with the object. Hides is its kind, or anyKind.
func (d *decoded) fail(hides schema.GroupKind, field, what string) {
	d.errs = append(d.errs, &Error{Refs: []Ref{d.at}, Field: field, Err: errors.New(what), hides: &hides})
}

// listHead is what the lists of all kinds have.
type listHead struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		// UID and ResourceVersion are of an object that an API server returned.
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		// Continue is where the rest of a list begins.
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items *[]stdjson.RawMessage `json:"items"`
	// raw is the object.
	raw []byte
}

// decode makes objects of a piece of the input: one object, or the objects of a list.
func decode(p piece) []decoded {
	d := decoded{at: p.at}
	if p.err != nil {
		d.fail(anyKind, "", p.err.Error())
		d.errs[0].EndsEarly = true
		return []decoded{d}
	}
	raw, err := p.asJSON()
	if err != nil {
		d.fail(anyKind, "", err.Error())
		return []decoded{d}
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" && p.at.Item == 0 {
		return nil // only comments
	}
	head, field, what := headOf(raw)
	switch {
	case what != "":
		d.fail(anyKind, field, what)
		if p.around {
			d.around = &listHead{}
		}
		return []decoded{d}
	case p.around:
		d.around = &head
		d.aboutList(head, p.cut)
		return []decoded{d}
	case p.at.Item > 0 && head.Kind == "" && head.APIVersion == "":
		d.untyped = raw
		return []decoded{d}
	case p.at.Item > 0: // a list, too: decodeObject says what is wrong with it
		return []decoded{decodeObject(p.at, head.TypeMeta, raw)}
	}
	elementKind, isList := strings.CutSuffix(head.Kind, "List")
	if d.aboutList(head, p.cut); !isList || head.Items == nil && d.list.Empty() && len(d.errs) == 0 {
		return []decoded{decodeObject(p.at, head.TypeMeta, raw)}
	}
	all := []decoded{d}
	if head.Items == nil {
		return all
	}
	lines := p.itemLines(len(*head.Items))
	for i, item := range *head.Items {
		d := decoded{at: p.at}
		d.at.Item, d.at.Line = i+1, lines[i]
		of, field, what := headOf(item)
		switch {
		case what != "":
			d.fail(anyKind, field, what)
		case of.Kind == "" && of.APIVersion == "" && elementKind != "":
			// The items of a typed list (PodList) do not repeat their kind.
			d = decodeObject(d.at, metav1.TypeMeta{APIVersion: head.APIVersion, Kind: elementKind}, item)
		default:
			d = decodeObject(d.at, of.TypeMeta, item)
		}
		all = append(all, d)
	}
	return all
}

// aboutList notes what a list says beside its items: of which kind they all are, and whether it ends as it should.
func (d *decoded) aboutList(head listHead, cut bool) {
	kind, isList := strings.CutSuffix(head.Kind, "List")
	if d.isList = isList; !isList {
		return
	}
	d.at.APIVersion, d.at.Kind = head.APIVersion, head.Kind
	if of := schema.FromAPIVersionAndKind(head.APIVersion, kind); reads(of) {
		d.list = of.GroupKind()
	}
	if cut {
		d.fail(anyKind, "", "the last line of the list has no end: it may be cut off")
	}
	if head.Metadata.Continue != "" {
		d.fail(anyKind, "metadata.continue", "the list is not complete: the API server has more items")
	}
	// An object of another kind may be called a list, too.
	if d.list.Empty() && (head.APIVersion != "v1" || head.Kind != "List") {
		return
	}
	given := keysOf(head.raw)
	if _, there := given["items"]; !there && d.around == nil {
		d.fail(anyKind, "items", "required: without it, nobody knows how many there are")
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "items"}, key) {
			d.fail(anyKind, oneLine(key), unknownField)
		}
	}
}

// headOf reads what an object says about itself. If that cannot be read, what says why.
func headOf(raw []byte) (head listHead, field, what string) {
	if raw[0] != '{' {
		return head, "", "not a Kubernetes object"
	}
	head.raw = raw
	if err := json.Unmarshal(raw, &head); err != nil {
		field, what = decodeError(err)
	}
	return head, field, what
}

// decodeObject decodes one object into the type that the scheme has for its kind.
func decodeObject(at Ref, is metav1.TypeMeta, raw []byte) decoded {
	d := decoded{at: at}
	d.at.APIVersion, d.at.Kind = is.APIVersion, is.Kind
	name := func() { // is read again only where it is needed
		head, _, _ := headOf(raw)
		d.at.Namespace, d.at.Name = head.Metadata.Namespace, head.Metadata.Name
	}
	gvk := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
	kind := gvk.GroupKind()
	if old := gvk == autoscalingv1.SchemeGroupVersion.WithKind(kind.Kind) && kind == HorizontalPodAutoscaler; !old &&
		!reads(gvk) {
		name()
		d.notRead(gvk, raw)
		return d
	}
	object, _, err := decoder.Decode(raw, &gvk, nil)
	strict, unknownFields := runtime.AsStrictDecodingError(err)
	switch {
	case unknownFields:
		name()
		// What is known of it is in the set all the same.
		d.strict(kind, object, strict.Errors())
	case err != nil:
		name()
		field, what := decodeError(err)
		if empty, err := scheme.New(gvk); field == "" && err == nil {
			if path, err := unreadable(raw, reflect.TypeOf(empty)); err != nil {
				field = oneLine(strings.TrimPrefix(path, ".")) // the keys of maps may be any text
				_, what = decodeError(err)                     // another field may be unreadable, too
			}
		}
		d.fail(kind, field, what)
		return d
	}
	if v1, old := object.(*autoscalingv1.HorizontalPodAutoscaler); old {
		object = autoscalerV2(v1)
	}
	d.object = object
	if meta, err := meta.Accessor(object); err == nil {
		d.at.Namespace, d.at.Name = meta.GetNamespace(), meta.GetName()
	}
	return d
}

// unknownField is what strictError says of a field that this build does not have.
const unknownField = "unknown field"

// strict notes what strict decoding found. A field that this build does not know is an error in what a person wrote: it
// may be misspelt. In an object that an API server returned it is a field of another release, and a note, unless a
// decision reads it as part of a whole.
func (d *decoded) strict(kind schema.GroupKind, object runtime.Object, errs []error) {
	meta, err := meta.Accessor(object)
	newer := err == nil && returned(meta) && len(errs) < maxStrictErrors
	for _, e := range errs {
		field, what := strictError(e)
		hides := kind
		if newer && what == unknownField {
			hides = decidesAbout(object, field)
		}
		if hides.Empty() {
			d.notes = append(d.notes, Note{
				At: d.at, Field: withoutNumbers(field),
				Text: "unknown field, left out: the API server that returned it knows more than this build",
			})
			continue
		}
		d.fail(hides, field, what)
	}
}

// notRead says why an object is not in the set: nothing reads its kind, or something is wrong with its version or kind.
func (d *decoded) notRead(gvk schema.GroupVersionKind, raw []byte) {
	if message, is := failure(gvk, raw); is {
		d.fail(anyKind, "", "an API server's error in place of objects: "+oneLine(message))
		return
	}
	switch known, served := versionOf[gvk.Kind]; {
	case gvk.Kind == "" && gvk.Group == "" && isKustomization(d.at.File):
		d.at.Kind = "Kustomization"
		d.ignored = true
	case gvk.Kind == "":
		d.fail(anyKind, "kind", "required")
	case gvk.Version == "":
		d.fail(schema.GroupKind{Group: known.Group, Kind: gvk.Kind}, "apiVersion", "required")
	// Workloads were in extensions once.
	case served && (gvk.Group == known.Group || gvk.Group == "extensions"):
		d.fail(schema.GroupKind{Group: known.Group, Kind: gvk.Kind}, "apiVersion",
			fmt.Sprintf(
				"is %s: only %s is read, which every supported API server serves (with helm template, add --kube-version and "+
					"--api-versions %s/%s)",
				gvk.GroupVersion(), known, known, gvk.Kind))
	case d.at.KnownAs() != "":
		d.fail(schema.GroupKind{Group: known.Group, Kind: gvk.Kind}, "apiVersion",
			fmt.Sprintf("is %s, which has no %s: must be %s", gvk.GroupVersion(), gvk.Kind, known))
		d.ignored = true
	case misspelt(gvk) != "":
		kind := misspelt(gvk)
		d.fail(schema.GroupKind{Group: gvk.Group, Kind: kind}, "kind", "is "+gvk.Kind+": must be "+kind)
	case strings.HasSuffix(gvk.Kind, "List") && d.at.Item > 0 && hasItems(raw):
		d.fail(anyKind, "", "a list in a list is not read")
	case scheme.IsVersionRegistered(gvk.GroupVersion()) && !scheme.Recognizes(gvk) && !d.returned(raw):
		d.fail(anyKind, "kind",
			fmt.Sprintf("is %s, which %s does not have in any supported release", gvk.Kind, gvk.GroupVersion()))
	default:
		is := metav1.TypeMeta{APIVersion: d.at.APIVersion, Kind: d.at.Kind}
		// Its type is not known, so a key that is given twice is all that can be wrong with its fields.
		_, _, err := decoder.Decode(raw, &gvk, &unstructured.Unstructured{})
		if twice, found := runtime.AsStrictDecodingError(err); found {
			for _, e := range twice.Errors() {
				field, what := strictError(e)
				d.fail(gvk.GroupKind(), field, what)
			}
			d.ignored = true
			return
		}
		if gvk == scaledObjectKind {
			d.scaled = scaledObject(is, raw)
		} else {
			d.custom = customWorkload(is, raw)
		}
		d.ignored = d.scaled == nil && d.custom == nil
	}
}

// failure is the message with which an API server refused a request, for example because of a missing right. It reports
// whether the object is such an answer.
func failure(gvk schema.GroupVersionKind, raw []byte) (message string, is bool) {
	var s struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	is = gvk.Group == "" && gvk.Kind == "Status" && json.Unmarshal(raw, &s) == nil && s.Status == metav1.StatusFailure
	return s.Message, is
}

// returned reports whether an API server returned the object: then its kind is one of another release.
func (d *decoded) returned(raw []byte) bool {
	head, _, what := headOf(raw)
	return what == "" && head.Metadata.UID != "" && head.Metadata.ResourceVersion != ""
}

// isKustomization reports whether the file is for kustomize, which knows it by its name: it need not say its kind.
func isKustomization(file string) bool {
	base := path.Base(filepath.ToSlash(file))
	return base == "kustomization.yaml" || base == "kustomization.yml"
}

func hasItems(raw []byte) bool {
	head, _, what := headOf(raw)
	return what != "" || head.Items != nil
}

// misspelt is the kind of a Set that differs from this one in nothing but upper case or a plural.
func misspelt(gvk schema.GroupVersionKind) string {
	for _, kind := range Kinds() {
		if kind.Group == gvk.Group && !scheme.Recognizes(gvk) &&
			(strings.EqualFold(gvk.Kind, kind.Kind) || strings.EqualFold(gvk.Kind, kind.Kind+"s")) {
			return kind.Kind
		}
	}
	return ""
}

// autoscalerV2 is the autoscaler in v2, without the target for the CPU.
func autoscalerV2(v1 *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	v2 := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: v1.ObjectMeta}
	v2.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference(v1.Spec.ScaleTargetRef)
	v2.Spec.MinReplicas, v2.Spec.MaxReplicas = v1.Spec.MinReplicas, v1.Spec.MaxReplicas
	v2.Status.ObservedGeneration, v2.Status.LastScaleTime = v1.Status.ObservedGeneration, v1.Status.LastScaleTime
	v2.Status.CurrentReplicas, v2.Status.DesiredReplicas = v1.Status.CurrentReplicas, v1.Status.DesiredReplicas
	return v2
}
