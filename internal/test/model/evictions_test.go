package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// evict is the first half of the API server's eviction handler, written from its description: it counts the
// eviction in the status of the budget. Each pod here has one budget.
func evict(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp != nil || p.Labels["app"] == "" {
			continue
		}
		b := Get[*policyv1.PodDisruptionBudget](v, "ns", p.Labels["app"])
		st := b.Status
		if uncounted(p, b) || st.ObservedGeneration < b.Generation || st.DisruptionsAllowed <= 0 {
			continue
		}
		b = b.DeepCopy()
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[p.Name] = metav1.NewTime(v.Now)
		do("an eviction of "+p.Name+" is granted", Put(b))
	}
}

// uncounted: a pod that is not ready may go while the healthy ones suffice.
func uncounted(p *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	return !isReady(p) && b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

func evictNotReady(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		b := Get[*policyv1.PodDisruptionBudget](v, "ns", p.Labels["app"])
		if b != nil && p.DeletionTimestamp == nil && uncounted(p, b) {
			do(fmt.Sprintf("%s is evicted; it is not ready and budget %s does not count it", p.Name, b.Name), deletePod(v, p))
		}
	}
}

// rememberEvictions: those that were granted and not carried out are remembered as "name/uid@seconds".
func rememberEvictions(s *Step) string {
	now := int(s.After.Now.Sub(Start) / time.Second)
	var kept []string
	for _, e := range strings.Fields(s.Ghost) {
		p, at := evicted(s.After, e)
		// An API server does not take that long between the two, and a cache is not older than the rest of two minutes.
		if p != nil && p.DeletionTimestamp == nil && now-at < 100 {
			kept = append(kept, e)
		}
	}
	if s.Event == "the API server dies in the middle of an eviction" {
		kept = nil
	}
	if s.Event == "eviction" {
		for _, after := range All[*policyv1.PodDisruptionBudget](s.After) {
			before := Get[*policyv1.PodDisruptionBudget](s.Before, "ns", after.Name)
			for name, at := range after.Status.DisruptedPods {
				if old, there := before.Status.DisruptedPods[name]; !there || !old.Equal(&at) {
					// A second eviction of a pod takes no other one.
					kept = slices.DeleteFunc(kept, func(e string) bool { return strings.HasPrefix(e, name+"/") })
					kept = append(kept, fmt.Sprintf("%s/%s@%d", name, Get[*corev1.Pod](s.After, "ns", name).UID, now))
				}
			}
		}
	}
	slices.Sort(kept)
	return strings.Join(slices.Compact(kept), " ")
}

// evicted is the pod of a remembered eviction, nil if it is gone.
func evicted(v *View, e string) (p *corev1.Pod, at int) {
	name, rest, _ := strings.Cut(e, "/")
	uid, seconds, _ := strings.Cut(rest, "@")
	if p = Get[*corev1.Pod](v, "ns", name); p != nil && string(p.UID) != uid {
		p = nil
	}
	_, err := fmt.Sscan(seconds, &at)
	if err != nil {
		panic(err)
	}
	return p, at
}

// deleteEvicted is the second half of the eviction handler.
func deleteEvicted(v *View, do func(string, ...Change)) {
	for _, e := range strings.Fields(v.Ghost) {
		if p, _ := evicted(v, e); p != nil && p.DeletionTimestamp == nil {
			do("the API server deletes the evicted "+p.Name, deletePod(v, p))
		}
	}
}

// abandonEviction changes nothing but what is remembered.
func abandonEviction(v *View, do func(string, ...Change)) {
	if v.Ghost != "" {
		do("the API server dies before it deletes the evicted pod")
	}
}

func deletePod(v *View, p *corev1.Pod) Change {
	p = p.DeepCopy()
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: v.Now}, ptr.To[int64](30)
	return Put(p)
}

func terminate(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp != nil {
			do("pod "+p.Name+" has terminated", Remove(p))
		}
	}
}

// replacePods is what the StatefulSet and ReplicaSet controllers do.
func replacePods(v *View, do func(string, ...Change)) {
	for _, s := range All[*appsv1.StatefulSet](v) {
		for i := range *s.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", s.Name, i)
			if Get[*corev1.Pod](v, "ns", name) == nil {
				p := newWorkloadPod(name, v.Fresh, s.Name, controlledBy("StatefulSet", s.Name, uidNumber(s.UID)))
				p.CreationTimestamp = metav1.NewTime(v.Now)
				do("the StatefulSet makes "+name+" again", Put(p))
			}
		}
	}
	for _, rs := range All[*appsv1.ReplicaSet](v) {
		app := strings.TrimSuffix(rs.Name, "-rs")
		n := 0
		for _, p := range All[*corev1.Pod](v) {
			if p.Labels["app"] == app && p.DeletionTimestamp == nil {
				n++
			}
		}
		if n < int(*rs.Spec.Replicas) {
			p := newWorkloadPod(fmt.Sprintf("%s-%05d", app, v.Fresh), v.Fresh, app, controlledBy("ReplicaSet", rs.Name, uidNumber(rs.UID)))
			p.CreationTimestamp = metav1.NewTime(v.Now)
			do("the ReplicaSet makes "+p.Name, Put(p))
		}
	}
}

func becomeReady(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp == nil && p.Labels["app"] != "" && !isReady(p) {
			do(p.Name+" is ready", Put(ready(p.DeepCopy())))
		}
	}
}
