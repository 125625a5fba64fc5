package resourceclaim

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan decides about one pod, claim or PodGroup.
//
// A pod's plan creates the claims that its templates call for, writes their names into its
// status and, once it has a node, reserves its allocated claims for it. A claim's plan takes
// away the consumers that do not need it, deallocates it with the last of them, and deletes
// it if it was generated for a pod that is done. A PodGroup's plan creates the claims that its pods
// share, and writes their names into its status.
//
// Needs are pods, claims and PodGroups to look up at the API server: put the answers into
// [Snapshot].Answers, and plan again. An error joins one
// [purekube.ObjectError] for each problem with the snapshot's objects; what does not depend on them
// is in the result all the same:
//
//   - A nil entry in a slice, or an object without a name: an error, otherwise ignored.
//   - Several objects of one name: nothing is planned for that name. A reservation for such a
//     pod is kept; an entry that names such a claim or template gets nothing.
//   - Versions of a claim in Claims and Assumed that do not compare: the one in Claims counts,
//     and the claim's own plan has the error.
//   - An entry of spec.resourceClaims that cannot be served: an error and an event on the pod.
//     The other entries get what is theirs. A plan without such an error has no events.
//
// A key that the snapshot does not hold gives an empty result: the object is gone.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) {
	if err := o.err(); err != nil {
		return Result{}, err
	}
	r, err := newTables(narrow(s, key, o), o).planner().plan(key)
	return r, errors.Join(err, problemsOf(s, o))
}

// PlanAll decides about every pod, claim and PodGroup of the snapshot. It returns those that have
// something to say, sorted by kind ("Pod", "PodGroup", "ResourceClaim"), namespace and name, each with the
// Result that [Plan] has for its key.
//
// The error joins one [purekube.ObjectError] for each problem that belongs to no key: nil entries,
// objects without a name, and several templates of one name. The outcomes are complete all the
// same.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) {
	if err := o.err(); err != nil {
		return nil, err
	}
	t := newTables(s, o)
	x := t.planner()
	x.users = make([]*corev1.Pod, len(t.snapshot.Claims))
	var out []Outcome
	add := func(kind string, name types.NamespacedName, r Result, err error) {
		if err != nil || !r.Empty() {
			out = append(out, Outcome{Key: purekube.Key{Kind: kind, Namespace: name.Namespace, Name: name.Name}, Result: r, Err: err})
		}
	}
	for _, pod := range t.snapshot.Pods {
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if x.podAmbiguous(name) {
			continue
		}
		r, err := x.planPod(pod)
		add(podKind, name, r, err)
	}
	for _, twice := range t.pods.Duplicates() {
		add(podKind, types.NamespacedName{Namespace: twice.Namespace, Name: twice.Name}, Result{}, twice)
	}
	for i, claim := range t.snapshot.Claims {
		name := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
		if t.claims.special(name) {
			continue
		}
		r, err := x.planClaim(claim, x.users[i])
		add(claimKind, name, r, err)
	}
	for name := range t.claims.specials() {
		r, err := x.claimOutcome(name)
		add(claimKind, name, r, err)
	}
	for _, g := range t.groups {
		if name := snapshot.KeyOf(g); !x.podGroupAmbiguous(name) {
			r, err := x.planPodGroup(g)
			add(podGroupKind, name, r, err)
		}
	}
	for _, twice := range t.podGroups.Duplicates() {
		add(podGroupKind, types.NamespacedName{Namespace: twice.Namespace, Name: twice.Name}, Result{}, twice)
	}
	// The keys differ, so that the order of the maps above does not show.
	slices.SortFunc(out, func(a, b Outcome) int { return purekube.Key.Compare(a.Key, b.Key) })
	return out, t.wholeProblems()
}

// wholeProblems are those that belong to no key.
func (x *tables) wholeProblems() error {
	for name := range x.ambiguousTemplates {
		x.problems.Add(snapshot.DuplicateError("ResourceClaimTemplate", name))
	}
	return x.problems.Err()
}

// plan decides about one key.
func (x *planner) plan(key purekube.Key) (Result, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	switch key.Kind {
	case podKind:
		return x.podOutcome(name)
	case claimKind:
		return x.claimOutcome(name)
	case podGroupKind:
		return x.podGroupOutcome(name)
	}
	return Result{}, nil
}

func (x *planner) podGroupOutcome(name types.NamespacedName) (Result, error) {
	if x.podGroupAmbiguous(name) {
		return Result{}, snapshot.DuplicateError(podGroupKind, name)
	}
	if g := x.podGroup(name); g != nil {
		return x.planPodGroup(g)
	}
	return Result{}, nil
}

func (x *planner) podOutcome(name types.NamespacedName) (Result, error) {
	if x.podAmbiguous(name) {
		return Result{}, snapshot.DuplicateError("Pod", name)
	}
	if pod := x.pod(name); pod != nil {
		return x.planPod(pod)
	}
	return Result{}, nil
}

func (x *planner) claimOutcome(name types.NamespacedName) (Result, error) {
	var problems snapshot.Problems
	for _, p := range x.versionProblems(name) {
		problems.Add(p)
	}
	if x.claimAmbiguous(name) {
		problems.Add(snapshot.DuplicateError("ResourceClaim", name))
		return Result{}, problems.Err()
	}
	claim := x.newestClaim(name)
	if claim == nil {
		return Result{}, problems.Err()
	}
	r, err := x.planClaim(claim, nil)
	return r, errors.Join(problems.Err(), err)
}

// problemsOf are those with the snapshot as a whole.
func problemsOf(s Snapshot, o Options) error {
	var problems snapshot.Problems
	noteUnusable("Pod", s.Pods, &problems)
	noteUnusable("ResourceClaim", s.Claims, &problems)
	noteUnusable("ResourceClaim", s.Assumed, &problems)
	noteUnusable("ResourceClaimTemplate", s.Templates, &problems)
	if o.PodGroupOf != nil && slices.ContainsFunc(s.PodGroups, func(g PodGroup) bool { return g.Name == "" }) {
		problems.Add(snapshot.NamelessError(podGroupKind))
	}
	return problems.Err()
}

// noteUnusable adds the problems that snapshot.Named adds, without making a list.
func noteUnusable[T any, P snapshot.Object[T]](kind string, objects []P, problems *snapshot.Problems) {
	missing, nameless := false, false
	for _, o := range objects {
		missing = missing || o == nil
		nameless = nameless || o != nil && o.GetName() == ""
	}
	if missing {
		problems.Add(&purekube.ObjectError{Kind: kind, Err: purekube.ErrNil})
	}
	if nameless {
		problems.Add(snapshot.NamelessError(kind))
	}
}
