package resourceclaim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/podstate"
)

// world is everybody else who writes to the API server.
type world struct {
	server *apiServer
	uids   int
}

// createPod makes a pod of that name with a UID of its own. What it wants follows from the name.
func (w *world) createPod(name string) {
	if w.server.pods[name] != nil {
		return
	}
	options := []podOption{wants("gpu", "gpu")}
	switch {
	case strings.HasPrefix(name, "two"):
		options = append(options, wants("nic", "gpu"))
	case strings.HasPrefix(name, "share"):
		options = []podOption{uses("gpu", "shared")}
	case strings.HasPrefix(name, "both"):
		options = append(options, uses("extra", "shared"))
	}
	if group, _, member := strings.Cut(name, "."); member {
		// Its group's gpu, and a nic of its own.
		options = []podOption{inGroup(group), wants("gpu", "gpu"), wants("nic", "gpu")}
	}
	w.uids++
	p := newPod(name, options...)
	p.UID = types.UID(fmt.Sprintf("pod-%d", w.uids))
	w.server.putPod(p)
}

// createGroup makes a PodGroup with a gpu that its pods share.
func (w *world) createGroup(name string) {
	if _, there := w.server.groups[name]; !there {
		w.uids++
		w.server.putGroup(newGroup(name, groupWants("gpu", "gpu")).uid(types.UID(fmt.Sprintf("group-%d", w.uids))))
	}
}

// deleteGroup begins a deletion, or ends one that has begun.
func (w *world) deleteGroup(name string) {
	g, there := w.server.groups[name]
	switch {
	case !there:
	case g.Deleting:
		w.server.removeGroup(name)
	default:
		w.server.putGroup(g.deleting())
	}
}

func (w *world) createShared() {
	if w.server.claims["shared"] == nil {
		w.uids++
		c := newClaim("shared")
		c.UID = types.UID(fmt.Sprintf("shared-%d", w.uids))
		w.server.putClaim(c)
	}
}

// schedule allocates and reserves the pod's claims and then binds the pod, one write a call. It
// reports whether there was anything to do.
func (w *world) schedule(name string) bool {
	p := w.server.pods[name]
	if p == nil || p.Spec.NodeName != "" || podstate.Done(p) {
		return false
	}
	for i := range p.Spec.ResourceClaims {
		pc := &p.Spec.ResourceClaims[i]
		claimName, state := ClaimName(p, pc)
		c := w.server.claims[claimName]
		if state != NameKnown || c == nil || c.DeletionTimestamp != nil {
			return false
		}
		consumer := asConsumer(p)
		if group, uid, ok := owningPodGroup(c); ok {
			if g, there := w.server.groups[group]; !there || g.UID != uid || group != groupOfLabel(p) {
				return false
			}
			consumer = resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: group, UID: uid}
		} else if generated(pc) && !metav1.IsControlledBy(c, p) {
			return false
		}
		if slices.Contains(c.Status.ReservedFor, consumer) {
			continue
		}
		c = c.DeepCopy()
		if c.Status.Allocation == nil {
			if !slices.Contains(c.Finalizers, "resource.kubernetes.io/delete-protection") {
				protected(c)
			}
			unprotectedAllocation(c)
		}
		c.Status.ReservedFor = append(c.Status.ReservedFor, consumer)
		w.server.putClaim(c)
		return true
	}
	p = p.DeepCopy()
	onNode(p)
	phase(corev1.PodRunning)(p)
	w.server.putPod(p)
	return true
}

// bind binds the pod without reserving anything, as a user can.
func (w *world) bind(name string) {
	if p := w.server.pods[name]; p != nil && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
		p = p.DeepCopy()
		onNode(p)
		w.server.putPod(p)
	}
}

func (w *world) finish(name string) {
	if p := w.server.pods[name]; p != nil && p.Spec.NodeName != "" && !podstate.Terminal(p) {
		p = p.DeepCopy()
		phase(corev1.PodSucceeded)(p)
		w.server.putPod(p)
	}
}

// deletePod begins a deletion, or ends one that has begun.
func (w *world) deletePod(name string) {
	p := w.server.pods[name]
	switch {
	case p == nil:
	case p.DeletionTimestamp != nil:
		w.server.removePod(name)
	default:
		p = p.DeepCopy()
		podDeleting(p)
		w.server.putPod(p)
	}
}

func (w *world) deleteClaim(name string) {
	if c := w.server.claims[name]; c != nil && c.DeletionTimestamp == nil {
		w.server.markDeleted(c)
	}
}

// collect deletes a claim whose pod is gone. It reports whether there was one.
func (w *world) collect() bool {
	for _, name := range w.claimNames() {
		c := w.server.claims[name]
		_, owner, ok := owningPod(c)
		if !ok {
			_, owner, ok = owningPodGroup(c)
		}
		for _, g := range w.server.groups {
			ok = ok && g.UID != owner
		}
		alive := slices.ContainsFunc(w.podNames(), func(p string) bool { return w.server.pods[p].UID == owner })
		if ok && !alive && c.DeletionTimestamp == nil {
			w.server.markDeleted(c)
			return true
		}
	}
	return false
}

func (w *world) podNames() []string {
	var out []string
	for _, p := range w.server.states[w.server.latest()].pods {
		out = append(out, p.Name)
	}
	return out
}

func (w *world) claimNames() []string {
	var out []string
	for _, c := range w.server.states[w.server.latest()].claims {
		out = append(out, c.Name)
	}
	return out
}

// endState describes the server without what differs from run to run: versions and suffixes.
func endState(s *apiServer) []string {
	var out []string
	for _, p := range s.states[s.latest()].pods {
		line := fmt.Sprintf("pod %s %s node=%q deleting=%t:", p.Name, p.Status.Phase, p.Spec.NodeName, p.DeletionTimestamp != nil)
		statuses := slices.Clone(p.Status.ResourceClaimStatuses)
		sortStatuses(statuses)
		for _, st := range statuses {
			c := s.claims[*st.ResourceClaimName]
			line += fmt.Sprintf(" %s=%t", st.Name, c != nil && metav1.IsControlledBy(c, p))
		}
		out = append(out, line)
	}
	for _, c := range s.states[s.latest()].claims {
		owner, _, _ := owningPod(c)
		line := fmt.Sprintf("claim %s%s of %q allocated=%t protected=%t deleting=%t:", c.GenerateName, c.Annotations["resource.kubernetes.io/pod-claim-name"],
			owner, c.Status.Allocation != nil, len(c.Finalizers) > 0, c.DeletionTimestamp != nil)
		var refs []string
		for _, r := range c.Status.ReservedFor {
			refs = append(refs, r.Name)
		}
		slices.Sort(refs)
		out = append(out, line+" "+strings.Join(refs, " "))
	}
	slices.Sort(out)
	return out
}
