package resourceclaim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/contract"
)

var (
	errNotFound = errors.New("not found")
	errConflict = errors.New("conflict")
	errInvalid  = errors.New("invalid")
)

// apiServer is as much of an API server as claims need: generateName, resourceVersions that
// conflict, finalizers that hold back a deletion, the validation of status.reservedFor, and a
// server-side apply of the pod's status list with one manager. It keeps every state it was in,
// so that a caller can be shown an old one, and watches over what must never happen.
type apiServer struct {
	revision int
	names    int
	pods     map[string]*corev1.Pod
	claims   map[string]*resourcev1.ResourceClaim
	groups   map[string]PodGroup
	template *resourcev1.ResourceClaimTemplate
	// applied are the status entries that the one manager owns, by the UID of the pod or PodGroup.
	applied map[types.UID][]string
	states  []state
	// violations is what the caller did and must not.
	violations []string
	writes     int
	// calls are the requests that succeeded, a line each.
	calls []string
	// refuse, if not nil, says which requests fail, as a quota or an admission plugin would.
	refuse func(purekube.Request) error
	// admit, if not nil, changes claims that are created, as an admission policy would.
	admit func(*resourcev1.ResourceClaim)
	// dynamic answers with Unstructured, as a dynamic client does.
	dynamic bool
}

// state is the server's objects at one revision.
type state struct {
	pods   []*corev1.Pod
	claims []*resourcev1.ResourceClaim
	groups []PodGroup
}

func newAPIServer() *apiServer {
	s := &apiServer{
		revision: 1000,
		pods:     map[string]*corev1.Pod{},
		claims:   map[string]*resourcev1.ResourceClaim{},
		groups:   map[string]PodGroup{},
		template: newTemplate("gpu"),
		applied:  map[types.UID][]string{},
	}
	s.record()
	return s
}

func (s *apiServer) latest() int { return len(s.states) - 1 }

// record keeps the state after a write.
func (s *apiServer) record() {
	var st state
	for _, p := range s.pods {
		st.pods = append(st.pods, p.DeepCopy())
	}
	for _, c := range s.claims {
		st.claims = append(st.claims, c.DeepCopy())
	}
	for _, g := range s.groups {
		st.groups = append(st.groups, contract.Copy([]PodGroup{g})...)
	}
	slices.SortFunc(st.groups, func(a, b PodGroup) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(st.pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(st.claims, func(a, b *resourcev1.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) })
	s.states = append(s.states, st)
}

func (s *apiServer) nextVersion() string {
	s.revision++
	return strconv.Itoa(s.revision)
}

func (s *apiServer) putPod(p *corev1.Pod) {
	p.ResourceVersion = s.nextVersion()
	s.pods[p.Name] = p
	s.record()
}

func (s *apiServer) putGroup(g PodGroup) {
	s.nextVersion()
	s.groups[g.Name] = g
	s.record()
}

func (s *apiServer) removeGroup(name string) {
	s.nextVersion()
	delete(s.groups, name)
	s.record()
}

func (s *apiServer) removePod(name string) {
	s.nextVersion()
	delete(s.pods, name)
	s.record()
}

// putClaim stores a claim, or removes it when nothing holds back its deletion any more.
func (s *apiServer) putClaim(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c = c.DeepCopy()
	c.ResourceVersion = s.nextVersion()
	if c.DeletionTimestamp != nil && len(c.Finalizers) == 0 {
		delete(s.claims, c.Name)
	} else {
		s.claims[c.Name] = c
	}
	s.record()
	return c.DeepCopy()
}

// needs reports whether the pod with that UID is there and may still run, or the PodGroup is there.
func (s *apiServer) needs(uid types.UID) bool {
	for _, g := range s.groups {
		if g.UID == uid {
			return true
		}
	}
	for _, p := range s.pods {
		if p.UID == uid {
			return !podstate.Done(p)
		}
	}
	return false
}

// membersUse reports whether a pod that may run names the claim, which is reserved for its PodGroup (D-36).
func (s *apiServer) membersUse(c *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
		for _, p := range s.pods {
			if ref.Resource == "podgroups" && groupOfLabel(p) == ref.Name && !podstate.Done(p) && resolvesTo(p, c.Name) {
				return true
			}
		}
		return false
	})
}

func (s *apiServer) violation(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// do carries out a request as a client would: with what the request says and nothing else. It
// returns what the server would. A delete returns nothing.
func (s *apiServer) do(r purekube.Request) (answer runtime.Object, err error) {
	defer func() {
		if err != nil {
			return
		}
		line := r.String()
		if claim, ok := claimMetadata(answer); ok && r.Verb == "create" {
			line += claim.GetName()
		}
		s.calls = append(s.calls, line)
	}()
	s.writes++
	if s.refuse != nil {
		if err := s.refuse(r); err != nil {
			return nil, err
		}
	}
	call := fmt.Sprintf("%s %s/%s %s %s", r.Verb, r.Resource.GroupVersion(), r.Resource.Resource, r.Subresource, r.PatchType)
	switch strings.TrimSpace(call) {
	case "create resource.k8s.io/v1/resourceclaims":
		return s.answer(s.createClaim(s.body(r)))
	case "patch resource.k8s.io/v1/resourceclaims status application/strategic-merge-patch+json":
		return s.answer(s.updateStatus(r))
	case "patch resource.k8s.io/v1/resourceclaims  application/strategic-merge-patch+json":
		return s.answer(s.update(r))
	case "delete resource.k8s.io/v1/resourceclaims":
		return nil, s.deleteClaim(r.Name, r.Preconditions)
	case "patch v1/pods status application/apply-patch+yaml":
		if r.FieldManager != "ResourceClaimController" || !r.Force {
			return nil, errInvalid
		}
		return s.applyStatuses(r.Name, r.Patch)
	case "patch scheduling.k8s.io/v1beta1/podgroups status application/apply-patch+yaml":
		if r.FieldManager != "ResourceClaimController" || !r.Force {
			return nil, errInvalid
		}
		return nil, s.applyGroupStatuses(r.Name, r.Patch)
	}
	return nil, fmt.Errorf("no such call: %s", call)
}

// body decodes the object of a request as the server does: it needs its apiVersion and kind.
func (s *apiServer) body(r purekube.Request) *resourcev1.ResourceClaim {
	document, err := json.Marshal(r.Object)
	claim := &resourcev1.ResourceClaim{}
	if err != nil || json.Unmarshal(document, claim) != nil ||
		claim.APIVersion != "resource.k8s.io/v1" || claim.Kind != "ResourceClaim" || claim.Namespace != r.Namespace || claim.Name != r.Name {
		s.violation("a body that is not the claim of the request: %s", document)
	}
	claim.TypeMeta = metav1.TypeMeta{}
	return claim
}

// answer is the claim as the client returns it: typed, without kind, or as a dynamic one.
func (s *apiServer) answer(claim *resourcev1.ResourceClaim, err error) (runtime.Object, error) {
	if err != nil || !s.dynamic {
		return claim, err
	}
	claim.APIVersion, claim.Kind = "resource.k8s.io/v1", "ResourceClaim"
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(claim)
	return &unstructured.Unstructured{Object: content}, err
}

func (s *apiServer) createClaim(c *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	for _, other := range s.claims {
		if metav1.IsControlledBy(other, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: c.OwnerReferences[0].UID}}) &&
			other.Annotations[PodClaimAnnotation] == c.Annotations[PodClaimAnnotation] {
			s.violation("a second claim for %s: %s and %s*", c.OwnerReferences[0].Name, other.Name, c.GenerateName)
		}
	}
	s.names++
	c = c.DeepCopy()
	c.Name = fmt.Sprintf("%s%05d", c.GenerateName, s.names)
	c.UID = types.UID(fmt.Sprintf("claim-%d", s.names))
	if s.admit != nil {
		s.admit(c)
	}
	return s.putClaim(c), nil
}

// patched returns the claim of the request's name, and the claim after the patch.
func (s *apiServer) patched(r purekube.Request) (old, c *resourcev1.ResourceClaim, err error) {
	old = s.claims[r.Name]
	if old == nil {
		return nil, nil, errNotFound
	}
	if c, err = apiserver.Patched(old, r.Patch); err != nil {
		return nil, nil, errInvalid
	}
	switch {
	case old.ResourceVersion != c.ResourceVersion:
		return nil, nil, errConflict
	case old.UID != c.UID:
		return nil, nil, errInvalid
	}
	return old, c, nil
}

func (s *apiServer) updateStatus(r purekube.Request) (*resourcev1.ResourceClaim, error) {
	old, c, err := s.patched(r)
	if err != nil {
		return nil, err
	}
	if len(c.Status.ReservedFor) > 0 && c.Status.Allocation == nil ||
		len(c.Status.ReservedFor) > resourcev1.ResourceClaimReservedForMaxSize {
		return nil, errInvalid
	}
	for _, ref := range c.Status.ReservedFor {
		if old.DeletionTimestamp != nil && !slices.Contains(old.Status.ReservedFor, ref) {
			return nil, errInvalid
		}
	}
	for _, ref := range old.Status.ReservedFor {
		if !slices.Contains(c.Status.ReservedFor, ref) && s.needs(ref.UID) {
			s.violation("%s taken from %s, which may run", c.Name, ref.Name)
		}
		if old.Status.Allocation != nil && c.Status.Allocation == nil && s.needs(ref.UID) {
			s.violation("%s deallocated under %s, which may run", c.Name, ref.Name)
		}
	}
	updated := old.DeepCopy()
	updated.Status = *c.Status.DeepCopy()
	return s.putClaim(updated), nil
}

func (s *apiServer) update(r purekube.Request) (*resourcev1.ResourceClaim, error) {
	old, c, err := s.patched(r)
	if err != nil {
		return nil, err
	}
	if old.Status.Allocation != nil && !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
		s.violation("%s unprotected while it is allocated", c.Name)
	}
	updated := old.DeepCopy()
	updated.ObjectMeta = *c.ObjectMeta.DeepCopy()
	return s.putClaim(updated), nil
}

func (s *apiServer) deleteClaim(name string, pre *metav1.Preconditions) error {
	old := s.claims[name]
	switch {
	case old == nil:
		return errNotFound
	case pre != nil && pre.UID != nil && *pre.UID != old.UID,
		pre != nil && pre.ResourceVersion != nil && *pre.ResourceVersion != old.ResourceVersion:
		return errConflict
	}
	if _, owner, ok := owningPod(old); ok && s.needs(owner) {
		s.violation("%s deleted although its pod may run", name)
	}
	s.markDeleted(old)
	return nil
}

func (s *apiServer) markDeleted(c *resourcev1.ResourceClaim) {
	c = c.DeepCopy()
	if c.DeletionTimestamp == nil {
		c.DeletionTimestamp = &metav1.Time{Time: now}
	}
	s.putClaim(c)
}

// applyStatuses is the server-side apply of a pod's status.
func (s *apiServer) applyStatuses(name string, body []byte) (*corev1.Pod, error) {
	var apply corev1.Pod
	if err := json.Unmarshal(body, &apply); err != nil {
		return nil, err
	}
	old := s.pods[apply.Name]
	switch {
	case apply.Kind != "Pod" || apply.APIVersion != "v1" || apply.Name != name:
		return nil, errInvalid
	case old == nil && apply.UID != "":
		return nil, errConflict
	case old == nil:
		return nil, errNotFound
	case apply.UID != "" && apply.UID != old.UID:
		return nil, errInvalid
	}
	p := old.DeepCopy()
	p.Status.ResourceClaimStatuses = slices.DeleteFunc(p.Status.ResourceClaimStatuses, func(st corev1.PodResourceClaimStatus) bool {
		return slices.Contains(s.applied[p.UID], st.Name) || statusNamed(apply.Status.ResourceClaimStatuses, st.Name) != nil
	})
	s.applied[p.UID] = nil
	for _, st := range apply.Status.ResourceClaimStatuses {
		p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, st)
		s.applied[p.UID] = append(s.applied[p.UID], st.Name)
	}
	s.putPod(p)
	return p.DeepCopy(), nil
}

// applyGroupStatuses is the server-side apply of a PodGroup's status, whose body is as a pod's.
func (s *apiServer) applyGroupStatuses(name string, body []byte) error {
	var apply corev1.Pod
	if err := json.Unmarshal(body, &apply); err != nil {
		return err
	}
	old, there := s.groups[apply.Name]
	switch {
	case apply.Kind != "PodGroup" || apply.APIVersion != "scheduling.k8s.io/v1beta1" || apply.Name != name:
		return errInvalid
	case !there:
		return errConflict
	case apply.UID != "" && apply.UID != old.UID:
		return errInvalid
	}
	g := contract.Copy([]PodGroup{old})[0]
	g.ResourceClaimStatuses = slices.DeleteFunc(g.ResourceClaimStatuses, func(st corev1.PodResourceClaimStatus) bool {
		return slices.Contains(s.applied[g.UID], st.Name) || statusNamed(apply.Status.ResourceClaimStatuses, st.Name) != nil
	})
	s.applied[g.UID] = nil
	for _, st := range apply.Status.ResourceClaimStatuses {
		g.ResourceClaimStatuses = append(g.ResourceClaimStatuses, st)
		s.applied[g.UID] = append(s.applied[g.UID], st.Name)
	}
	s.putGroup(g)
	return nil
}

// lookUp answers a Need.
func (s *apiServer) lookUp(n purekube.Need) purekube.Answer {
	switch n.Kind {
	case "Pod":
		if p := s.pods[n.Name]; p != nil {
			return purekube.Answer{Object: p.DeepCopy()}
		}
	case "ResourceClaim":
		if c := s.claims[n.Name]; c != nil {
			return purekube.Answer{Object: c.DeepCopy()}
		}
	case "PodGroup":
		if g, there := s.groups[n.Name]; there {
			return purekube.Answer{Object: g}
		}
	}
	return purekube.Answer{}
}
