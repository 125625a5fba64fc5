package model

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
)

// claimController is the package as a controller.
func claimController(o resourceclaim.Options) Controller {
	snapshot := func(v *View) resourceclaim.Snapshot {
		s := resourceclaim.Snapshot{Now: v.Now, Pods: All[*corev1.Pod](v), PodGroups: podGroupsOf(v), Claims: All[*resourcev1.ResourceClaim](v),
			Templates: All[*resourcev1.ResourceClaimTemplate](v), Deleted: sets.New[types.UID]()}
		// Which UIDs matter: those that a claim or an object has.
		for _, c := range s.Claims {
			for _, r := range c.Status.ReservedFor {
				seenGone(v, s.Deleted, r.UID)
			}
			seenGone(v, s.Deleted, ownerOf(c))
		}
		for _, p := range s.Pods {
			seenGone(v, s.Deleted, p.UID)
		}
		for _, g := range s.PodGroups {
			seenGone(v, s.Deleted, g.UID)
		}
		for _, c := range v.Assumed {
			s.Assumed = append(s.Assumed, c.(*resourcev1.ResourceClaim))
		}
		return s
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, p := range All[*corev1.Pod](v) {
				keys = append(keys, resourceclaim.KeyOf(p).String())
			}
			for _, c := range All[*resourcev1.ResourceClaim](v) {
				keys = append(keys, resourceclaim.KeyOf(c).String())
			}
			for _, g := range All[*apiserver.PodGroup](v) {
				keys = append(keys, resourceclaim.KeyOf(groupFor(g)).String())
			}
			return keys
		},
		Plan: func(v *View, key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			s := snapshot(v)
			r, err := resourceclaim.Plan(s, k, o)
			for rounds := 0; live != nil && len(r.Needs) > 0 && rounds < 5; rounds++ {
				confirm(&s, r.Needs, live)
				r, err = resourceclaim.Plan(s, k, o)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			x := resourceclaim.NewIndex(snapshot(v), o)
			// The Index as it was before the event, told of it.
			before, gone := part(oldObj), part(newObj)
			if oldObj != nil {
				x, _ = x.With(before)
			} else {
				x, _ = x.Without(gone)
			}
			_, keys := x.Without(before)
			if newObj != nil {
				_, keys = x.With(gone)
			}
			return texts(keys)
		},
	}
}

// seenGone adds a UID that was seen to be deleted.
func seenGone(v *View, deleted sets.Set[types.UID], uid types.UID) {
	if uid != "" && v.Gone(uid) {
		deleted.Insert(uid)
	}
}

// part is a snapshot of one object; nil: of none.
func part(o Object) (s resourceclaim.Snapshot) {
	switch o := o.(type) {
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *apiserver.PodGroup:
		s.PodGroups = append(s.PodGroups, *groupFor(o))
	case *resourcev1.ResourceClaim:
		s.Claims = append(s.Claims, o)
	case *resourcev1.ResourceClaimTemplate:
		s.Templates = append(s.Templates, o)
	}
	return s
}

// confirm adds what the API server has for the needs.
func confirm(s *resourceclaim.Snapshot, needs []purekube.Need, live *View) {
	if s.Answers == nil {
		s.Answers = map[purekube.Need]purekube.Answer{}
	}
	for _, n := range needs {
		s.Answers[n] = purekube.Answer{}
		switch n.Kind {
		case "Pod":
			if p := Get[*corev1.Pod](live, n.Namespace, n.Name); p != nil {
				s.Answers[n] = purekube.Answer{Object: p}
			}
		case "ResourceClaim":
			if c := Get[*resourcev1.ResourceClaim](live, n.Namespace, n.Name); c != nil {
				s.Answers[n] = purekube.Answer{Object: c}
			}
		case "PodGroup":
			if g := groupFor(Get[*apiserver.PodGroup](live, n.Namespace, n.Name)); g != nil {
				s.Answers[n] = purekube.Answer{Object: *g}
			}
		}
	}
}
