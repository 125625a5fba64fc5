package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// Set is the objects of a scenario.
type Set struct {
	*manifests.Set
	PodGroups []resourceclaim.PodGroup
	// Assumed are the claims that only the memory of own writes has.
	Assumed []*resourcev1.ResourceClaim
	// Changed are the objects that come or change. Gone are the objects that go.
	Changed, Gone *Set
	// groups are the names of the pods' PodGroups.
	groups map[types.NamespacedName]string
	// byKey is what named finds objects in.
	byKey map[purekube.Key]manifests.Object
}

// named is the first object of the key, nil if there is none. Nothing is added to a set after the first call.
func (s *Set) named(key purekube.Key) manifests.Object {
	if s.byKey == nil {
		s.byKey = map[purekube.Key]manifests.Object{}
		for _, o := range s.Objects() {
			if k := manifests.KeyOf(o); s.byKey[k] == nil {
				s.byKey[k] = o
			}
		}
	}
	return s.byKey[key]
}

// PodGroupOf is the name of the pod's PodGroup.
func (s *Set) PodGroupOf(p *corev1.Pod) string {
	return s.groups[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
}

// Set returns the objects, new ones at each call.
func (s *Scenario) Set() (*Set, error) {
	set, err := s.load("objects", s.file.Objects)
	if err != nil {
		return nil, err
	}
	assumed, err := s.load("assumed", s.file.Assumed)
	if err != nil {
		return nil, err
	}
	set.Assumed = assumed.Claims
	if len(assumed.Claims) != assumed.Len() {
		return nil, errors.New("assumed: want ResourceClaims")
	}
	if set.Changed, err = s.load("change", s.file.Change); err != nil {
		return nil, err
	}
	maps.Copy(set.groups, set.Changed.groups)
	set.Gone = &Set{Set: &manifests.Set{}}
	for _, key := range s.Delete {
		if !set.goes(key) {
			return nil, fmt.Errorf("delete: %s is not one of the objects", key)
		}
	}
	return set, nil
}

// goes puts the object into Gone. It is false if there is none.
func (s *Set) goes(key purekube.Key) bool {
	if o := s.named(key); o != nil {
		return s.Gone.Add(o) == nil
	}
	i := s.groupNamed(key)
	if i >= 0 {
		s.Gone.PodGroups = append(s.Gone.PodGroups, s.PodGroups[i])
	}
	return i >= 0
}

// groupNamed is the place of the PodGroup of the key, or -1.
func (s *Set) groupNamed(key purekube.Key) int {
	return slices.IndexFunc(s.PodGroups, func(g resourceclaim.PodGroup) bool {
		return purekube.Key{Kind: podGroup, Namespace: g.Namespace, Name: g.Name} == key
	})
}

// has reports whether the caches, or what the controller remembers of its own writes, have the object.
func (s *Set) has(key purekube.Key) bool {
	return s.named(key) != nil || s.groupNamed(key) >= 0 ||
		slices.ContainsFunc(s.Assumed, func(c *resourcev1.ResourceClaim) bool { return manifests.KeyOf(c) == key })
}

const podGroup = "PodGroup"

// load makes objects of what is written.
func (s *Scenario) load(path string, written []map[string]any) (*Set, error) {
	set := &Set{Set: &manifests.Set{Complete: true}, groups: map[types.NamespacedName]string{}}
	var documents strings.Builder
	for i, object := range written {
		repeated, err := copies(object)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", path, i, err)
		}
		for _, o := range repeated {
			o = runtimeCopy(o)
			s.complete(o)
			if o["kind"] == podGroup {
				g, err := podGroupOf(o)
				if err != nil {
					return nil, fmt.Errorf("%s[%d]: %w", path, i, err)
				}
				set.PodGroups = append(set.PodGroups, g)
				continue
			}
			set.takeGroup(o)
			document, err := json.Marshal(o) // as YAML, 2,000 nodes take a second
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", path, i, err)
			}
			documents.Write(append(document, '\n'))
		}
	}
	if documents.Len() == 0 {
		return set, nil
	}
	files := fstest.MapFS{path: {Data: []byte(documents.String())}}
	loaded, err := manifests.Load(manifests.Options{Files: files}, path)
	if err != nil {
		return nil, err
	}
	if len(loaded.Ignored) > 0 {
		return nil, fmt.Errorf("%s: %s is of no kind that a package reads", path, loaded.Ignored[0].Kind)
	}
	if len(loaded.ScaledObjects) > 0 { // no package plans with it
		return nil, fmt.Errorf("%s: %s is of no kind that a package reads", path, loaded.ScaledObjects[0].Kind)
	}
	set.Set = loaded
	return set, nil
}

// takeGroup takes the PodGroup out of a pod: the types of the oldest supported release do not have the field.
func (s *Set) takeGroup(o map[string]any) {
	spec, _ := o["spec"].(map[string]any)
	group, _ := spec["schedulingGroup"].(map[string]any)
	if name, ok := group["podGroupName"].(string); ok && o["kind"] == "Pod" && len(group) == 1 {
		delete(spec, "schedulingGroup")
		metadata := child(o, "metadata")
		s.groups[types.NamespacedName{Namespace: text(metadata["namespace"]), Name: text(metadata["name"])}] = name
	}
}

func podGroupOf(o map[string]any) (resourceclaim.PodGroup, error) {
	var read struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
		Spec            struct {
			ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims"`
		} `json:"spec"`
		Status struct {
			ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses"`
		} `json:"status"`
	}
	err := strictly(o, &read)
	return resourceclaim.PodGroup{
		APIVersion: read.APIVersion, Namespace: read.Metadata.Namespace, Name: read.Metadata.Name, UID: read.Metadata.UID,
		Deleting: read.Metadata.DeletionTimestamp != nil, ResourceClaims: read.Spec.ResourceClaims,
		ResourceClaimStatuses: read.Status.ResourceClaimStatuses,
	}, err
}

// strictly reads an object into a type. A field that the type does not have is an error.
func strictly(o map[string]any, into any) error {
	document, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(document, into)
}

// runtimeCopy is a deep copy, and an empty object for nil.
func runtimeCopy(o map[string]any) map[string]any { return numbered(o, "$i").(map[string]any) }

// versions are the API versions of the kinds.
var versions = func() map[string]string {
	of := map[string]string{podGroup: "scheduling.k8s.io/v1beta1", "Scale": "autoscaling/v1"}
	for _, kind := range manifests.Kinds() {
		of[kind.Kind] = manifests.APIVersion(kind)
	}
	return of
}()

// namespaced reports whether objects of the kind have a namespace.
func namespaced(kind string) bool {
	for _, k := range manifests.Kinds() {
		if k.Kind == kind {
			return manifests.Namespaced(k)
		}
	}
	return true
}

// complete fills in what a file may leave out. docs/conformance.md lists it.
func (s *Scenario) complete(o map[string]any) {
	kind, _ := o["kind"].(string)
	if version, known := versions[kind]; known {
		otherwise(o, "apiVersion", version)
	}
	metadata := child(o, "metadata")
	namespace := ""
	if namespaced(kind) {
		namespace = text(otherwise(metadata, "namespace", metav1.NamespaceDefault))
	}
	key := purekube.Key{Kind: kind, Namespace: namespace, Name: text(metadata["name"])}
	otherwise(metadata, "uid", key.String())
	otherwise(metadata, "resourceVersion", "1")
	otherwise(metadata, "generation", float64(1))
	otherwise(metadata, "creationTimestamp", s.Now.Add(-time.Hour).Format(time.RFC3339))
	for _, r := range objectsIn(metadata["ownerReferences"]) {
		owner := text(r["kind"])
		otherwise(r, "apiVersion", versions[owner])
		of := namespace
		if !namespaced(owner) {
			of = ""
		}
		otherwise(r, "uid", purekube.Key{Kind: owner, Namespace: of, Name: text(r["name"])}.String())
		otherwise(r, "controller", true)
	}
	switch kind {
	case "Pod":
		status := child(o, "status")
		otherwise(status, "phase", string(corev1.PodRunning))
		otherwise(status, "conditions",
			[]any{map[string]any{"type": string(corev1.PodReady), "status": string(corev1.ConditionTrue)}})
	case "Node":
		status := child(o, "status")
		otherwise(status, "allocatable", map[string]any{string(corev1.ResourcePods): "110"})
		otherwise(status, "conditions",
			[]any{map[string]any{"type": string(corev1.NodeReady), "status": string(corev1.ConditionTrue)}})
	case "PodDisruptionBudget":
		if status, ok := o["status"].(map[string]any); ok {
			otherwise(status, "observedGeneration", metadata["generation"])
		}
	case "IPAddress":
		family := corev1.IPv4Protocol
		if strings.Contains(key.Name, ":") {
			family = corev1.IPv6Protocol
		}
		otherwise(metadata, "labels", map[string]any{
			networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: string(family),
		})
	case "ResourceClaim":
		status, _ := o["status"].(map[string]any)
		for _, r := range objectsIn(status["reservedFor"]) {
			consumer := map[string]string{"pods": "Pod", "podgroups": podGroup}[text(r["resource"])]
			otherwise(r, "uid", purekube.Key{Kind: consumer, Namespace: namespace, Name: text(r["name"])}.String())
		}
	}
}

// otherwise gives the object a field that it does not have, and returns the field.
func otherwise(o map[string]any, field string, value any) any {
	if _, has := o[field]; !has {
		o[field] = value
	}
	return o[field]
}

// child is an object in the object, made if there is none.
func child(o map[string]any, field string) map[string]any {
	inner, ok := o[field].(map[string]any)
	if !ok {
		inner = map[string]any{}
		otherwise(o, field, inner)
	}
	return inner
}

func objectsIn(list any) (objects []map[string]any) {
	items, _ := list.([]any)
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

func text(value any) string { s, _ := value.(string); return s }

// Get is the line of a lookup.
func Get(n purekube.Need) Line {
	return Line{Head: "get " + place(resourceOf(n.APIVersion, n.Kind), n.Subresource, n.Namespace, n.Name)}
}

func resourceOf(apiVersion, kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(apiVersion, kind))
	return plural.Resource
}

// place is a resource and the name of an object.
func place(resource, subresource, namespace, name string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return resource + " " + name
}

// Answer is what the API server of the scenario answers to a lookup: what answers say, or else the object that the
// caches have, or else that there is none.
func (s *Scenario) Answer(set *Set, n purekube.Need) (purekube.Answer, error) {
	head := Get(n).Head
	written, found := s.file.Answers[head]
	if !found {
		return s.cached(set, n), nil
	}
	if written == nil {
		return purekube.Answer{}, nil
	}
	o := runtimeCopy(written)
	if failure, ok := o["error"].(string); ok && len(o) == 1 {
		return purekube.Answer{Err: errors.New(failure)}, nil
	}
	metadata := child(o, "metadata")
	otherwise(metadata, "name", n.Name)
	key := purekube.Key{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
	otherwise(metadata, "uid", key.String())
	if n.Namespace != "" {
		otherwise(metadata, "namespace", n.Namespace)
	}
	if n.Subresource == "scale" {
		scale := &autoscalingv1.Scale{}
		if err := strictly(o, scale); err != nil {
			return purekube.Answer{}, fmt.Errorf("answers: %s: %w", head, err)
		}
		return purekube.Answer{Object: scale}, nil
	}
	otherwise(o, "kind", n.Kind)
	live, err := s.load("answers: "+head, []map[string]any{o})
	if err != nil {
		return purekube.Answer{}, err
	}
	return s.cached(live, n), nil
}

// cached is the object of the set that has the name, after the changes.
func (s *Scenario) cached(set *Set, n purekube.Need) purekube.Answer {
	key := purekube.Key{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
	if slices.Contains(s.Delete, key) {
		return purekube.Answer{}
	}
	for _, of := range []*Set{set.Changed, set} {
		if of == nil {
			continue
		}
		for _, g := range of.PodGroups {
			if key == (purekube.Key{Kind: podGroup, Namespace: g.Namespace, Name: g.Name}) {
				return purekube.Answer{Object: g}
			}
		}
		if o := of.named(key); o != nil {
			if n.Subresource == "scale" {
				return scaleOf(o)
			}
			return purekube.Answer{Object: o}
		}
	}
	return purekube.Answer{}
}

// scaleOf is the scale of a workload, or that it has none.
func scaleOf(o manifests.Object) purekube.Answer {
	replicas, has := child(fields(o), "spec")["replicas"].(float64)
	if !has {
		return purekube.Answer{}
	}
	return purekube.Answer{Object: &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}}
}

// fields are the fields of an object in JSON.
func fields(object any) map[string]any {
	document, err := json.Marshal(object)
	var of map[string]any
	if err == nil {
		err = json.Unmarshal(document, &of)
	}
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return of
}

// Object is the object of that key, as it is after the changes; nil: there is none.
func (s *Set) Object(key purekube.Key) manifests.Object {
	for _, of := range []*Set{s.Changed, s} {
		if o := of.named(key); o != nil {
			return o
		}
	}
	for _, c := range s.Assumed {
		if manifests.KeyOf(c) == key {
			return c
		}
	}
	return nil
}
