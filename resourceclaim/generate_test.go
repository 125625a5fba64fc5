package resourceclaim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// generator makes small snapshots in which everything refers to everything. sane ones could be
// an API server's; others hold nil objects, duplicates and missing fields too.
type generator struct {
	*rand.Rand
	sane bool
}

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }
func (g generator) often() bool             { return g.IntN(4) > 0 }
func (g generator) seldom() bool            { return g.IntN(5) == 0 }
func (g generator) never() bool             { return !g.sane && g.IntN(25) == 0 }

func (g generator) podName() string   { return g.one("p0", "p1", "p2", "p3") }
func (g generator) claimName() string { return g.one("c0", "c1", "c2", "c3", "c4", "c5") }
func (g generator) uid(pod string) types.UID {
	if g.never() {
		return ""
	}
	return types.UID("uid-" + pod + g.one("", "", "", "-old"))
}

func (g generator) snapshot() Snapshot {
	s := Snapshot{Now: now}
	for _, name := range []string{"p0", "p1", "p2", "p3"} {
		if g.often() {
			s.Pods = append(s.Pods, g.pod(name))
		}
		if g.never() {
			s.Pods = append(s.Pods, g.pod(name), nil, g.pod(""))
		}
	}
	for _, name := range []string{"c0", "c1", "c2", "c3", "c4", "c5"} {
		if g.often() {
			s.Claims = append(s.Claims, g.claim(name))
		}
		if g.never() {
			s.Claims = append(s.Claims, g.claim(name), nil, g.claim(""))
		}
		if g.seldom() {
			s.Assumed = append(s.Assumed, g.claim(name))
		}
		if g.never() {
			s.Assumed = append(s.Assumed, g.claim(name), nil)
		}
	}
	for _, name := range []string{"t0", "t1"} {
		if g.often() {
			s.Templates = append(s.Templates, newTemplate(name))
		}
		if g.seldom() {
			s.Templates = append(s.Templates, newTemplate(name+"x", adminAccess))
		}
		if g.never() {
			s.Templates = append(s.Templates, newTemplate(name), nil)
		}
	}
	if g.often() {
		s.Deleted = deletedUIDs()
		for range g.IntN(3) {
			s.Deleted.Insert(g.uid(g.podName()))
		}
	}
	s.Answers = replies{}
	if g.often() {
		for range g.IntN(4) {
			name := g.podName()
			maps.Copy(s.Answers, asked(name))
			if g.often() {
				maps.Copy(s.Answers, asked(g.pod(name)))
			}
		}
	}
	if g.often() {
		for range g.IntN(6) {
			name := g.claimName()
			maps.Copy(s.Answers, askedClaims(name))
			if g.often() {
				maps.Copy(s.Answers, askedClaims(g.claim(name)))
			}
		}
	}
	g.Shuffle(len(s.Claims), func(i, j int) { s.Claims[i], s.Claims[j] = s.Claims[j], s.Claims[i] })
	return s
}

func (g generator) pod(name string) *corev1.Pod {
	p := newPod(name)
	p.UID = g.uid(name)
	p.Status.Phase = corev1.PodPhase(g.one("Pending", "Running", "Running", "Succeeded", "Failed", "Unknown", ""))
	if g.often() {
		onNode(p)
	}
	if g.seldom() {
		podDeleting(p)
	}
	for i := range g.IntN(4) {
		entry := fmt.Sprintf("e%d", i)
		if g.never() {
			entry = "e0"
		}
		switch g.IntN(8) {
		case 0, 1, 2:
			uses(entry, g.claimName())(p)
		case 3:
			if g.IntN(3) == 0 {
				unsupported(entry)(p)
			}
		default:
			wants(entry, g.one("t0", "t1", "t0x", "t2"))(p)
			switch {
			case g.seldom():
				notNeeded(entry)(p)
			case g.often():
				got(entry, g.claimName())(p)
			}
			if g.never() {
				got(entry, "")(p)
			}
		}
	}
	if g.seldom() {
		extended(g.claimName())(p)
	}
	return p
}

func (g generator) claim(name string) *resourcev1.ResourceClaim {
	c := newClaim(name, version(strconv.Itoa(1+g.IntN(20))))
	if g.never() {
		c.ResourceVersion = g.one("", "0", "x", "007")
	}
	if g.often() {
		pod := g.podName()
		ownedBy(pod, g.uid(pod))(c)
		if g.often() {
			c.Annotations = map[string]string{PodClaimAnnotation: g.one("e0", "e1", "e2")}
		}
		if g.seldom() {
			c.OwnerReferences[0].Controller = nil
		}
	}
	if g.often() {
		c.Finalizers = []string{resourcev1.Finalizer}
	}
	if g.seldom() {
		c.Finalizers = append(c.Finalizers, "example.com/other")
	}
	if g.often() {
		unprotectedAllocation(c)
		for _, name := range []string{"p0", "p1", "p2", "p3"} {
			if g.IntN(3) == 0 {
				c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
					APIGroup: g.one("", "", "", "", "", "", "scheduling.k8s.io"),
					Resource: g.one("pods", "pods", "pods", "pods", "pods", "pods", "podgroups"),
					Name:     name, UID: g.uid(name),
				})
			}
		}
	}
	if g.seldom() {
		c.DeletionTimestamp = &metav1.Time{Time: now}
	}
	return c
}
