package resourceclaim

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// The objects that the tests are about. All of them live in the namespace ml, and their UID is
// "uid-" and their name.

const ns = "ml"

var now = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func podKey(name string) purekube.Key   { return PodKey(ns, name) }
func claimKey(name string) purekube.Key { return ClaimKey(ns, name) }

type podOption func(*corev1.Pod)

func newPod(name string, options ...podOption) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "100",
	}}
	p.Status.Phase = corev1.PodPending
	for _, o := range options {
		o(p)
	}
	return p
}

func podUID(uid types.UID) podOption     { return func(p *corev1.Pod) { p.UID = uid } }
func onNode(p *corev1.Pod)               { p.Spec.NodeName = "node-1" }
func phase(ph corev1.PodPhase) podOption { return func(p *corev1.Pod) { p.Status.Phase = ph } }
func podDeleting(p *corev1.Pod)          { p.DeletionTimestamp = &metav1.Time{Time: now} }
func notNeeded(entry string) podOption   { return func(p *corev1.Pod) { addStatus(p, entry, nil) } }
func extended(claim string) podOption {
	return func(p *corev1.Pod) { p.Status.ExtendedResourceClaimStatus = extendedStatus(claim) }
}
func addStatus(p *corev1.Pod, e string, claim *string) {
	p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: e, ResourceClaimName: claim})
}

func extendedStatus(claim string) *corev1.PodExtendedResourceClaimStatus {
	return &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim}
}

// uses is an entry that names a claim.
func uses(entry, claim string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: entry, ResourceClaimName: &claim})
	}
}

// wants is an entry that names a template.
func wants(entry, template string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: &template})
	}
}

// got is the status that names the claim of an entry.
func got(entry, claim string) podOption {
	return func(p *corev1.Pod) { addStatus(p, entry, &claim) }
}

// has is an entry with a template and the status that names its claim.
func has(entry, template, claim string) podOption {
	return func(p *corev1.Pod) { wants(entry, template)(p); got(entry, claim)(p) }
}

// unsupported is an entry from an API that is not known yet.
func unsupported(entry string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: entry})
	}
}

type claimOption func(*resourcev1.ResourceClaim)

func newClaim(name string, options ...claimOption) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "200",
	}}
	for _, o := range options {
		o(c)
	}
	return c
}

func version(rv string) claimOption {
	return func(c *resourcev1.ResourceClaim) { c.ResourceVersion = rv }
}
func inNamespace(namespace string) claimOption {
	return func(c *resourcev1.ResourceClaim) { c.Namespace = namespace }
}
func claimDeleting(c *resourcev1.ResourceClaim) {
	c.DeletionTimestamp = &metav1.Time{Time: now}
}

// allocated is what the scheduler writes: the finalizer and the allocation.
func allocated(c *resourcev1.ResourceClaim) {
	protected(c)
	unprotectedAllocation(c)
}

func protected(c *resourcev1.ResourceClaim) {
	c.Finalizers = append(c.Finalizers, resourcev1.Finalizer)
}

func unprotectedAllocation(c *resourcev1.ResourceClaim) {
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: "p", Device: "d-" + c.Name}},
	}}
}

// ownedBy makes a pod the claim's controller.
func ownedBy(pod string, uid types.UID) claimOption {
	return func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid, Controller: ptr.To(true),
		})
	}
}

// madeFor is a claim that was generated for an entry of a pod.
func madeFor(pod, entry string) claimOption {
	return func(c *resourcev1.ResourceClaim) {
		ownedBy(pod, types.UID("uid-"+pod))(c)
		c.Annotations = map[string]string{PodClaimAnnotation: entry}
	}
}

func podRef(name string) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID("uid-" + name)}
}

func reservedFor(pods ...string) claimOption {
	return func(c *resourcev1.ResourceClaim) {
		for _, p := range pods {
			c.Status.ReservedFor = append(c.Status.ReservedFor, podRef(p))
		}
	}
}

func consumer(ref resourcev1.ResourceClaimConsumerReference) claimOption {
	return func(c *resourcev1.ResourceClaim) { c.Status.ReservedFor = append(c.Status.ReservedFor, ref) }
}

func newTemplate(name string, options ...func(*resourcev1.ResourceClaimTemplate)) *resourcev1.ResourceClaimTemplate {
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "50"}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1},
	}}
	for _, o := range options {
		o(t)
	}
	return t
}

func adminAccess(t *resourcev1.ResourceClaimTemplate) {
	t.Spec.Spec.Devices.Requests[0].Exactly.AdminAccess = ptr.To(true)
}

func prioritizedList(t *resourcev1.ResourceClaimTemplate) {
	t.Spec.Spec.Devices.Requests[0] = resourcev1.DeviceRequest{
		Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "big", DeviceClassName: "big"}},
	}
}

func pods(ps ...*corev1.Pod) []*corev1.Pod                               { return ps }
func claims(cs ...*resourcev1.ResourceClaim) []*resourcev1.ResourceClaim { return cs }
func templates(ts ...*resourcev1.ResourceClaimTemplate) []*resourcev1.ResourceClaimTemplate {
	return ts
}

// lines are the actions as text.
func lines(actions []Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.String())
	}
	return out
}

// modes runs a test in both.
var modes = []struct {
	name    string
	options Options
}{{"default", Options{}}, {"upstream", Options{MatchUpstream: purekube.V1_36}}}

func deletedUIDs(uids ...types.UID) sets.Set[types.UID] { return sets.New(uids...) }

// replies are the API server's answers.
type replies = map[purekube.Need]purekube.Answer

// asked are answers about pods: a name was not found.
func asked(answers ...any) replies {
	out := replies{}
	for _, a := range answers {
		switch a := a.(type) {
		case string:
			out[needOf(PodKey(ns, a))] = purekube.Answer{}
		case *corev1.Pod:
			out[needOf(PodKey(ns, a.Name))] = purekube.Answer{Object: a}
		default:
			panic(fmt.Sprintf("%T", a))
		}
	}
	return out
}

// noneFound are answers about pods, none of which was found.
func noneFound(names ...string) replies {
	out := replies{}
	for _, name := range names {
		maps.Copy(out, asked(name))
	}
	return out
}

// uidsOf are the UIDs of pods of these names.
func uidsOf(names ...string) sets.Set[types.UID] {
	out := deletedUIDs()
	for _, name := range names {
		out.Insert(newPod(name).UID)
	}
	return out
}

// askedClaims are answers about claims: a name was not found.
func askedClaims(answers ...any) replies {
	out := replies{}
	for _, a := range answers {
		switch a := a.(type) {
		case string:
			out[needOf(ClaimKey(ns, a))] = purekube.Answer{}
		case *resourcev1.ResourceClaim:
			out[needOf(ClaimKey(ns, a.Name))] = purekube.Answer{Object: a}
		default:
			panic(fmt.Sprintf("%T", a))
		}
	}
	return out
}

// askedGroups are answers about PodGroups: a name was not found.
func askedGroups(answers ...any) replies {
	out := replies{}
	for _, a := range answers {
		switch a := a.(type) {
		case string:
			out[needOf(PodGroupKey(ns, a))] = purekube.Answer{}
		case PodGroup:
			out[needOf(PodGroupKey(ns, a.Name))] = purekube.Answer{Object: a}
		}
	}
	return out
}

// podAnswer is the answer about a pod, nil if it was not found.
func podAnswer(s Snapshot, name string) (pod *corev1.Pod, asked bool) {
	answer, asked := s.Answers[needOf(PodKey(ns, name))]
	pod, _ = answer.Object.(*corev1.Pod)
	return pod, asked
}

// claimAnswer is the answer about a claim, nil if it was not found.
func claimAnswer(s Snapshot, name string) (claim *resourcev1.ResourceClaim, asked bool) {
	answer, asked := s.Answers[needOf(ClaimKey(ns, name))]
	claim, _ = answer.Object.(*resourcev1.ResourceClaim)
	return claim, asked
}

// annotated ties a claim to an entry of its pod.
func annotated(entry string) claimOption {
	return func(c *resourcev1.ResourceClaim) {
		c.Annotations = map[string]string{PodClaimAnnotation: entry}
	}
}
