package model

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// budgetController is the package as a controller.
func budgetController(o disruption.Options) Controller {
	snapshot := func(v *View) disruption.Snapshot {
		return disruption.Snapshot{Now: v.Now, Budgets: All[*policyv1.PodDisruptionBudget](v), Pods: All[*corev1.Pod](v),
			Deployments: All[*appsv1.Deployment](v), ReplicaSets: All[*appsv1.ReplicaSet](v), StatefulSets: All[*appsv1.StatefulSet](v)}
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, b := range All[*policyv1.PodDisruptionBudget](v) {
				keys = append(keys, disruption.KeyOf(b).String())
			}
			for _, p := range All[*corev1.Pod](v) {
				keys = append(keys, disruption.KeyOf(p).String())
			}
			return keys
		},
		Plan: func(v *View, key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			s := snapshot(v)
			r, err := disruption.Plan(s, k, o)
			for rounds := 0; live != nil && len(r.Needs) > 0 && rounds < 5; rounds++ {
				s.Answers = maps.Clone(s.Answers)
				for _, n := range r.Needs {
					if s.Answers == nil {
						s.Answers = map[purekube.Need]purekube.Answer{}
					}
					s.Answers[n] = answerOf(live, n)
				}
				r, err = disruption.Plan(s, k, o)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			x := disruption.NewIndex(snapshot(v), o)
			if newObj != nil { // the view may be from after the event
				x, _ = x.Without(budgetObject(newObj))
			}
			if oldObj != nil {
				x, _ = x.With(budgetObject(oldObj))
			}
			keys := changeIndex[disruption.Snapshot, disruption.Action](&x, budgetObject, oldObj, newObj)
			return texts(keys)
		},
	}
}

// changeIndex puts a change of an object into an Index, and returns the keys that it affects.
func changeIndex[S any, A purekube.Action, X purekube.Index[X, S, A]](
	x *X, snapshot func(Object) S, oldObj, newObj Object,
) (keys []purekube.Key) {
	if newObj == nil {
		*x, keys = (*x).Without(snapshot(oldObj))
	} else {
		*x, keys = (*x).With(snapshot(newObj))
	}
	return keys
}

// texts are the keys as the model has them.
func texts[K fmt.Stringer](keys []K) (out []string) {
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// budgetObject is the snapshot of one object.
func budgetObject(o Object) (s disruption.Snapshot) {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	}
	return s
}

// answerOf is what the API server answers to a lookup.
func answerOf(live *View, n purekube.Need) purekube.Answer {
	scale := func(o metav1.Object, replicas *int32) purekube.Answer {
		return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: o.GetUID()}, Spec: autoscalingv1.ScaleSpec{Replicas: *replicas}}}
	}
	switch n.Kind {
	case "Deployment":
		if d := Get[*appsv1.Deployment](live, "ns", n.Name); d != nil {
			return scale(d, d.Spec.Replicas)
		}
	case "ReplicaSet":
		if rs := Get[*appsv1.ReplicaSet](live, "ns", n.Name); rs != nil && n.Subresource == "" {
			return purekube.Answer{Object: rs}
		} else if rs != nil {
			return scale(rs, rs.Spec.Replicas)
		}
	case "StatefulSet":
		if ss := Get[*appsv1.StatefulSet](live, "ns", n.Name); ss != nil {
			return scale(ss, ss.Spec.Replicas)
		}
	}
	return purekube.Answer{}
}
