package manifests

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// Set is objects by kind, and what is known about the input that they are from. The zero value is an empty set. Objects
// are in the order of the input.
type Set struct {
	Nodes                    []*corev1.Node
	Pods                     []*corev1.Pod
	ReplicationControllers   []*corev1.ReplicationController
	ReplicaSets              []*appsv1.ReplicaSet
	Deployments              []*appsv1.Deployment
	StatefulSets             []*appsv1.StatefulSet
	DaemonSets               []*appsv1.DaemonSet
	Jobs                     []*batchv1.Job
	CronJobs                 []*batchv1.CronJob
	HorizontalPodAutoscalers []*autoscalingv2.HorizontalPodAutoscaler
	Budgets                  []*policyv1.PodDisruptionBudget
	ServiceCIDRs             []*networkingv1.ServiceCIDR
	IPAddresses              []*networkingv1.IPAddress
	ClusterRoles             []*rbacv1.ClusterRole
	Claims                   []*resourcev1.ResourceClaim
	ClaimTemplates           []*resourcev1.ResourceClaimTemplate

	// CustomWorkloads are the objects of kinds that no package knows and that have replicas, or a template of pods.
	CustomWorkloads []*CustomWorkload
	// ScaledObjects are KEDA's, which say how many replicas workloads have.
	ScaledObjects []*ScaledObject
	// Ignored are the other objects of kinds that no package reads. If the kind is one of another API group, the object is
	// an error as well: see [Ref.KnownAs].
	Ignored []Ref
	// Seen are the kinds that the input says something about: it has an object of the kind, or a list of that kind, which
	// may be empty, or Options.None names it. Without that, "there is none" and "nobody asked" look the same.
	Seen map[schema.GroupKind]bool
	// Unreadable counts the objects that could not be read, or only in part, by kind. The zero GroupKind counts those
	// that may be of any kind.
	Unreadable map[schema.GroupKind]int
	// unreadableIn are the namespaces of the objects that Unreadable counts, by kind; empty for one that may be of any.
	unreadableIn map[schema.GroupKind]map[string]bool
	// inPart are the objects of the set that were read only in part.
	inPart map[purekube.Key]bool
	// Notes are what a reader of an answer should know about the input. They are no errors.
	Notes []Note
	// Complete: every file and every list was read to its end, and everything in them is of a known kind.
	Complete bool

	// places are where the objects are in the input, and again the other places of objects that are there more than
	// once.
	places map[purekube.Key]place
	again  map[purekube.Key][]place
	files  []string
	// added are the names of the nodes of WithNodes.
	added map[string]bool
}

// Ref is where an object is in the input.
type Ref struct {
	// File is the path that was read, or "standard input".
	File string `json:"file,omitempty"`
	// Document counts from 1. It is 0 for the file as a whole.
	Document int `json:"document,omitempty"`
	// Item counts from 1 in a list. It is 0 outside of lists.
	Item int `json:"item,omitempty"`
	// Line is where the object begins, from 1. It is 0 where that is not known.
	Line       int    `json:"line,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// GroupKind is the group of APIVersion, and Kind.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// KnownAs is the API version that has the kind, if the object names a version of another group of [Kinds], or of a
// group that upper case makes another one: "policy/v1" for a PodDisruptionBudget of apps/v1 or Policy/v1. Otherwise it
// is empty.
func (r Ref) KnownAs() string {
	is := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	known, found := versionOf[is.Kind]
	if !found || is.Version == "" || is.Group == known.Group {
		return ""
	}
	if !slices.ContainsFunc(Kinds(), func(k schema.GroupKind) bool { return strings.EqualFold(k.Group, is.Group) }) {
		return ""
	}
	return known.String()
}

func (r Ref) key() purekube.Key {
	return purekube.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// place is a Ref in less memory: a dump has hundreds of thousands. File is a number in Set.files.
type place struct{ file, document, item, line int32 }

// GroupKinds of the objects that a Set has, to look up in [Set.Seen].
var (
	Node                    = schema.GroupKind{Kind: "Node"}
	Pod                     = schema.GroupKind{Kind: "Pod"}
	ReplicationController   = schema.GroupKind{Kind: "ReplicationController"}
	ReplicaSet              = schema.GroupKind{Group: appsv1.GroupName, Kind: "ReplicaSet"}
	Deployment              = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}
	StatefulSet             = schema.GroupKind{Group: appsv1.GroupName, Kind: "StatefulSet"}
	DaemonSet               = schema.GroupKind{Group: appsv1.GroupName, Kind: "DaemonSet"}
	Job                     = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
	CronJob                 = schema.GroupKind{Group: batchv1.GroupName, Kind: "CronJob"}
	HorizontalPodAutoscaler = schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}
	PodDisruptionBudget     = schema.GroupKind{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}
	ServiceCIDR             = schema.GroupKind{Group: networkingv1.GroupName, Kind: "ServiceCIDR"}
	IPAddress               = schema.GroupKind{Group: networkingv1.GroupName, Kind: "IPAddress"}
	ClusterRole             = schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRole"}
	ResourceClaim           = schema.GroupKind{Group: resourcev1.GroupName, Kind: "ResourceClaim"}
	ResourceClaimTemplate   = schema.GroupKind{Group: resourcev1.GroupName, Kind: "ResourceClaimTemplate"}
)

// Kinds are the kinds that a Set has objects of.
func Kinds() []schema.GroupKind {
	return []schema.GroupKind{
		Node, Pod, ReplicationController, ReplicaSet, Deployment, StatefulSet, DaemonSet, Job, CronJob,
		HorizontalPodAutoscaler,
		PodDisruptionBudget, ServiceCIDR, IPAddress, ClusterRole, ResourceClaim, ResourceClaimTemplate,
	}
}

// Namespaced reports whether objects of a kind of [Kinds] have a namespace.
func Namespaced(kind schema.GroupKind) bool {
	return kind != Node && kind != ServiceCIDR && kind != IPAddress && kind != ClusterRole
}

// APIVersion is the version in which objects of a kind of [Kinds] are read: "policy/v1".
func APIVersion(kind schema.GroupKind) string { return versionOf[kind.Kind].String() }

// kindOf is the kind of an object of a Set. It is zero for every other object.
func kindOf(o runtime.Object) schema.GroupKind {
	switch o.(type) {
	case *corev1.Node:
		return Node
	case *corev1.Pod:
		return Pod
	case *corev1.ReplicationController:
		return ReplicationController
	case *appsv1.ReplicaSet:
		return ReplicaSet
	case *appsv1.Deployment:
		return Deployment
	case *appsv1.StatefulSet:
		return StatefulSet
	case *appsv1.DaemonSet:
		return DaemonSet
	case *batchv1.Job:
		return Job
	case *batchv1.CronJob:
		return CronJob
	case *autoscalingv2.HorizontalPodAutoscaler:
		return HorizontalPodAutoscaler
	case *policyv1.PodDisruptionBudget:
		return PodDisruptionBudget
	case *networkingv1.ServiceCIDR:
		return ServiceCIDR
	case *networkingv1.IPAddress:
		return IPAddress
	case *rbacv1.ClusterRole:
		return ClusterRole
	case *resourcev1.ResourceClaim:
		return ResourceClaim
	case *resourcev1.ResourceClaimTemplate:
		return ResourceClaimTemplate
	}
	return schema.GroupKind{}
}

// Add appends objects to the slices of their types, and adds their kinds to Seen. It returns an error for an object of
// another type and adds the others. It does not copy the objects, and does not look for names that are there already.
func (s *Set) Add(objects ...runtime.Object) error {
	var wrong error
	for _, o := range objects {
		kind := kindOf(o)
		if kind.Empty() {
			wrong = cmp.Or(wrong, error(errType{o}))
			continue
		}
		s.see(kind)
		s.put(o)
	}
	return wrong
}

// put appends the object to the slice of its type.
func (s *Set) put(o runtime.Object) {
	switch o := o.(type) {
	case *corev1.Node:
		s.Nodes = append(s.Nodes, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *corev1.ReplicationController:
		s.ReplicationControllers = append(s.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	case *appsv1.DaemonSet:
		s.DaemonSets = append(s.DaemonSets, o)
	case *batchv1.Job:
		s.Jobs = append(s.Jobs, o)
	case *batchv1.CronJob:
		s.CronJobs = append(s.CronJobs, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		s.HorizontalPodAutoscalers = append(s.HorizontalPodAutoscalers, o)
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, o)
	case *networkingv1.ServiceCIDR:
		s.ServiceCIDRs = append(s.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		s.IPAddresses = append(s.IPAddresses, o)
	case *rbacv1.ClusterRole:
		s.ClusterRoles = append(s.ClusterRoles, o)
	case *resourcev1.ResourceClaim:
		s.Claims = append(s.Claims, o)
	case *resourcev1.ResourceClaimTemplate:
		s.ClaimTemplates = append(s.ClaimTemplates, o)
	}
}

// Object is a pointer to an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Objects are all objects of the set, kind by kind in the order of [Kinds].
func (s *Set) Objects() []Object {
	var all []Object
	all = appendTo(all, s.Nodes)
	all = appendTo(all, s.Pods)
	all = appendTo(all, s.ReplicationControllers)
	all = appendTo(all, s.ReplicaSets)
	all = appendTo(all, s.Deployments)
	all = appendTo(all, s.StatefulSets)
	all = appendTo(all, s.DaemonSets)
	all = appendTo(all, s.Jobs)
	all = appendTo(all, s.CronJobs)
	all = appendTo(all, s.HorizontalPodAutoscalers)
	all = appendTo(all, s.Budgets)
	all = appendTo(all, s.ServiceCIDRs)
	all = appendTo(all, s.IPAddresses)
	all = appendTo(all, s.ClusterRoles)
	all = appendTo(all, s.Claims)
	return appendTo(all, s.ClaimTemplates)
}

func appendTo[T Object](all []Object, objects []T) []Object {
	for _, o := range objects {
		all = append(all, o)
	}
	return all
}

// Count is how many objects of the kind the set has.
func (s *Set) Count(kind schema.GroupKind) int {
	switch kind {
	case Node:
		return len(s.Nodes)
	case Pod:
		return len(s.Pods)
	case ReplicationController:
		return len(s.ReplicationControllers)
	case ReplicaSet:
		return len(s.ReplicaSets)
	case Deployment:
		return len(s.Deployments)
	case StatefulSet:
		return len(s.StatefulSets)
	case DaemonSet:
		return len(s.DaemonSets)
	case Job:
		return len(s.Jobs)
	case CronJob:
		return len(s.CronJobs)
	case HorizontalPodAutoscaler:
		return len(s.HorizontalPodAutoscalers)
	case PodDisruptionBudget:
		return len(s.Budgets)
	case ServiceCIDR:
		return len(s.ServiceCIDRs)
	case IPAddress:
		return len(s.IPAddresses)
	case ClusterRole:
		return len(s.ClusterRoles)
	case ResourceClaim:
		return len(s.Claims)
	case ResourceClaimTemplate:
		return len(s.ClaimTemplates)
	}
	return 0
}

// Len is how many objects the input has, ignored ones included.
func (s *Set) Len() int {
	n := len(s.Ignored) + len(s.CustomWorkloads) + len(s.ScaledObjects)
	for _, kind := range Kinds() {
		n += s.Count(kind)
	}
	return n
}

// Hides reports whether an object that could not be read is of one of the kinds, or may be.
func (s *Set) Hides(kinds ...schema.GroupKind) bool {
	for _, kind := range kinds {
		if s.Unreadable[kind] > 0 {
			return true
		}
	}
	return s.Unreadable[schema.GroupKind{}] > 0
}

// Hide notes that objects of the kind are missing from the set, of whatever namespace: [Set.Hides] is true from then
// on. The maps of the set are replaced, since another set may share them.
func (s *Set) Hide(kind schema.GroupKind) {
	s.Unreadable, s.unreadableIn = maps.Clone(s.Unreadable), maps.Clone(s.unreadableIn)
	if s.Unreadable == nil {
		s.Unreadable = map[schema.GroupKind]int{}
	}
	s.Unreadable[kind]++
	delete(s.unreadableIn, kind)
}

// HidesIn returns the namespaces in which an object of the kind could not be read, or only in part. It is false where
// [Set.Hides] is true and such an object may be of any namespace. Nothing can be decided about the pods of a namespace
// where a PodDisruptionBudget could not be read; budgets do not select pods of other namespaces.
func (s *Set) HidesIn(kind schema.GroupKind) (namespaces map[string]bool, known bool) {
	if !s.Hides(kind) {
		return nil, true
	}
	in := s.unreadableIn[kind]
	return maps.Clone(in), s.Unreadable[schema.GroupKind{}] == 0 && len(in) > 0 && !in[""]
}

// ReadInPart reports whether the set has an object of this key with a field that could not be read. Decide nothing
// about that object: the field may change the decision.
func (s *Set) ReadInPart(key purekube.Key) bool { return s.inPart[key] }

// Missing returns the kinds, of the kinds given, that the input says nothing about: see [Set.Seen].
func (s *Set) Missing(kinds ...schema.GroupKind) []schema.GroupKind {
	var missing []schema.GroupKind
	for _, kind := range kinds {
		if !s.Seen[kind] {
			missing = append(missing, kind)
		}
	}
	return missing
}

// Refs are where the input has the object: in several places if it is there more than once, in none if it was made by
// [Set.Add] or [Set.AtFullHealth].
func (s *Set) Refs(key purekube.Key) []Ref {
	first, found := s.places[key]
	if !found {
		return nil
	}
	refs := []Ref{s.ref(key, first)}
	for _, p := range s.again[key] {
		refs = append(refs, s.ref(key, p))
	}
	return refs
}

func (s *Set) ref(key purekube.Key, p place) Ref {
	return Ref{
		File: s.files[p.file], Document: int(p.document), Item: int(p.item), Line: int(p.line),
		APIVersion: versionOf[key.Kind].String(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
	}
}

// note takes in where the object is. It is false for one that is there already.
func (s *Set) note(key purekube.Key, at Ref) (first bool) {
	if n := len(s.files); n == 0 || s.files[n-1] != at.File {
		s.files = append(s.files, at.File)
	}
	p := place{int32(len(s.files) - 1), int32(at.Document), int32(at.Item),
		int32(at.Line)} //nolint:gosec // as many bytes fit in no file
	if _, twice := s.places[key]; twice {
		if s.again == nil {
			s.again = map[purekube.Key][]place{}
		}
		s.again[key] = append(s.again[key], p)
		return false
	}
	if s.places == nil {
		s.places = map[purekube.Key]place{}
	}
	s.places[key] = p
	return true
}

func (s *Set) see(kind schema.GroupKind) {
	if s.Seen == nil {
		s.Seen = map[schema.GroupKind]bool{}
	}
	s.Seen[kind] = true
}

// KeyOf returns the key of an object of a Set. It returns the zero key for nil, and for an object of another type.
func KeyOf(o Object) purekube.Key {
	kind := kindOf(o)
	if kind.Empty() || reflect.ValueOf(o).IsNil() {
		return purekube.Key{}
	}
	return key(kind, o)
}

// key is the object's name.
func key(kind schema.GroupKind, o metav1.Object) purekube.Key {
	return purekube.Key{Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
