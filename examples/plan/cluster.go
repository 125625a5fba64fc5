package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// scheme has the kinds of the API groups that any core plans with.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}()

var decoder = serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()

// cluster is the input: the objects that the cores plan with, by type.
type cluster struct {
	nodes                  []*corev1.Node
	pods                   []*corev1.Pod
	replicationControllers []*corev1.ReplicationController
	replicaSets            []*appsv1.ReplicaSet
	deployments            []*appsv1.Deployment
	statefulSets           []*appsv1.StatefulSet
	clusterRoles           []*rbacv1.ClusterRole
	serviceCIDRs           []*networkingv1.ServiceCIDR
	ipAddresses            []*networkingv1.IPAddress
	budgets                []*policyv1.PodDisruptionBudget
	claims                 []*resourcev1.ResourceClaim
	templates              []*resourcev1.ResourceClaimTemplate

	// origins says where an object was read, twice where it was there twice.
	origins map[reference][]origin
	// kinds counts the objects by kind.
	kinds map[string]int
	// lists are the kinds of which there was a list of their own, a PodList for example: it may be empty.
	lists  map[string]bool
	listed int
	// none are the kinds of which the user says that the cluster has no more than the input.
	none []string
	// skipped counts the objects of kinds that no core plans with.
	skipped  map[string]int
	problems []problem
	// objects counts all that were read.
	objects  int
	progress *progress
	// maxUnzipped is how many bytes a gzip file may hold.
	maxUnzipped int64
}

// reference names an object of the input.
type reference struct{ kind, namespace, name string }

func (r reference) String() string { return title(r.kind, r.namespace, r.name) }

// title is "Kind namespace/name", or as much of it as there is.
func title(kind, namespace, name string) string {
	switch {
	case name == "":
		return kind
	case namespace == "":
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func newCluster() *cluster {
	return &cluster{
		origins: map[reference][]origin{}, kinds: map[string]int{}, lists: map[string]bool{}, skipped: map[string]int{},
		maxUnzipped: defaultMaxUnzipped << 20,
	}
}

// plans reports whether some core wants objects of this type.
func plans(o runtime.Object) bool {
	return (&cluster{}).keep(o)
}

// keep puts the object into the slice of its type. It is false for a type without one.
func (c *cluster) keep(o runtime.Object) bool {
	switch o := o.(type) {
	case *corev1.Node:
		c.nodes = append(c.nodes, o)
	case *corev1.Pod:
		c.pods = append(c.pods, o)
	case *corev1.ReplicationController:
		c.replicationControllers = append(c.replicationControllers, o)
	case *appsv1.ReplicaSet:
		c.replicaSets = append(c.replicaSets, o)
	case *appsv1.Deployment:
		c.deployments = append(c.deployments, o)
	case *appsv1.StatefulSet:
		c.statefulSets = append(c.statefulSets, o)
	case *rbacv1.ClusterRole:
		c.clusterRoles = append(c.clusterRoles, o)
	case *networkingv1.ServiceCIDR:
		c.serviceCIDRs = append(c.serviceCIDRs, o)
	case *networkingv1.IPAddress:
		c.ipAddresses = append(c.ipAddresses, o)
	case *policyv1.PodDisruptionBudget:
		c.budgets = append(c.budgets, o)
	case *resourcev1.ResourceClaim:
		c.claims = append(c.claims, o)
	case *resourcev1.ResourceClaimTemplate:
		c.templates = append(c.templates, o)
	default:
		return false
	}
	return true
}

// has reports whether the input has objects of any of these kinds.
func (c *cluster) has(kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return c.kinds[kind] > 0 })
}

// somethingFor reports whether there is anything in the input that one of the cores plans with. If there is not, and
// nothing is wrong with the input either, that is a problem: an empty report would look as if all were well.
func (c *cluster) somethingFor(selected []core) bool {
	var kinds, names []string
	for _, core := range selected {
		kinds = append(kinds, core.reads...)
		names = append(names, core.name)
	}
	if c.has(kinds) {
		return true
	}
	switch input := count(c.objects, "object"); {
	case len(c.problems) > 0:
	case len(selected) == len(cores):
		c.problems = append(c.problems, problem{what: fmt.Sprintf("no core plans with any of the %s in the input", input)})
	default:
		c.problems = append(c.problems, problem{what: fmt.Sprintf("%s plans with none of the %s in the input, but with %s",
			strings.Join(names, ", "), input, strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), ", "))})
	}
	return false
}

// clusterScoped are the kinds without a namespace.
var clusterScoped = []string{"Node", "ClusterRole", "ServiceCIDR", "IPAddress"}

// add takes an object in.
func (c *cluster) add(at origin, kind string, o runtime.Object) {
	meta := o.(metav1.Object)
	if meta.GetName() == "" {
		c.problems = append(c.problems, problem{origins: []origin{at}, object: kind, field: "metadata.name", what: "missing", hides: kind})
		return
	}
	// As kubectl does with a manifest that names no namespace.
	if meta.GetNamespace() == "" && !slices.Contains(clusterScoped, kind) {
		meta.SetNamespace(metav1.NamespaceDefault)
	}
	ref := reference{kind, meta.GetNamespace(), meta.GetName()}
	c.origins[ref] = append(c.origins[ref], at)
	c.kinds[kind]++
	c.keep(o)
}

// problem is one thing that is wrong with the input.
type problem struct {
	origins []origin
	object  string // "Kind namespace/name", or empty
	field   string
	what    string
	// ofPlan: the input is what the API server would hold, and a plan ended with an error.
	ofPlan bool
	// hides is the kind of an object that could not be read, or not all of it. It is anyKind where the kind is not known.
	hides string
	// unread: what follows in the input was not read.
	unread bool
}

// anyKind is the kind of an object that may be of any kind.
const anyKind = "*"

// String is one line: file, document number, object, field, what is wrong.
func (p problem) String() string {
	s := ""
	for i, at := range p.origins {
		if i > 0 {
			s += " and "
		}
		s += at.String()
	}
	for _, part := range []string{p.object, p.field, p.what} {
		switch {
		case part == "":
		case s == "":
			s = part
		default:
			s = fmt.Sprintf("%s: %s", s, part)
		}
	}
	return s
}

// unread adds the problem that a file was not read, or not to its end.
func (c *cluster) unread(file, what string) {
	c.problems = append(c.problems, problem{origins: []origin{{file: file}}, what: what, unread: true})
}
