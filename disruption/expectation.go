package disruption

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// expectation is how many pods the controllers want. If problem is nil and needs is empty, sum is the answer. Otherwise
// sum is the part that was found, and no status uses it.
type expectation struct {
	sum int64
	// problem is the first problem in the order of the pods' names. Upstream also stops at the first problem, in an
	// order that changes from pass to pass.
	problem *purekube.ObjectError
	// needs are the needs before the problem in that order, or all needs if there is no problem: an answer may bring an
	// earlier problem.
	needs []purekube.Need
}

// expect adds up the scales of the distinct controllers of a budget's pods (upstream: getExpectedScale). Two
// ReplicaSets of one Deployment count once:
//
//	web-5d4f-a, web-5d4f-b   → ReplicaSet web-5d4f ┐
//	web-77c9-x               → ReplicaSet web-77c9 ┴→ Deployment web, scale 3   sum 3, and not 6
//
// The result is remembered with the references until a workload or an answer changes: a budget with thousands of
// controllers is asked at each event of each pod. each, if set, is told of every controller and what is known about it,
// in the order of the pods, and of controllers that need a lookup last.
func (x *Index) expect(st *budgetState, each func(reference, finding)) expectation {
	if each != nil {
		return x.expectInOrder(st, each)
	}
	known := st.refs.wanted.Load()
	if known == nil || known.by != x.workloads {
		known = x.addUp(st)
		st.refs.wanted.Store(known)
	}
	e := known.expectation
	e.needs = slices.Clone(e.needs)
	return e
}

// addUp computes what expect remembers.
func (x *Index) addUp(st *budgetState) *wantedScale {
	if !x.options.orderDecides() {
		none := wantedScale{by: x.workloads, namespace: st.Namespace,
			controllers: persistent.NewMap[controller, summedScale](compareControllers)}
		refs := make([]metav1.OwnerReference, 0, st.refs.namings.Len())
		for ref := range st.refs.namings.All() {
			refs = append(refs, ref)
		}
		if sum := none.changed(1, refs...); sum != nil {
			return sum
		}
	}
	return &wantedScale{by: x.workloads, expectation: x.expectInOrder(st, nil)}
}

// wantedScale is what the controllers of some references want, computed from these workloads. It never changes.
//
// If all controllers are found, the sum follows when a reference comes or goes:
//
//	references   rs-a rs-b rs-c
//	lead to      web  web  api       controllers  {web: scale 3, 2 references; api: scale 5, 1 reference}   total 8
//	without rs-b                     controllers  {web: scale 3, 1 reference; …}                            total 8
//	without rs-a                     controllers  {api: …}                                                  total 5
type wantedScale struct {
	expectation
	// by is compared by its pointer; see workloads.
	by        *workloads
	namespace string
	// controllers are what the references lead to, by identity, and nil if the order of the pods matters.
	controllers *persistent.Map[controller, summedScale]
	// total is exact; sum may be wrapped (D-23).
	total int64
}

// summedScale is the scale of a controller and the number of references that lead to it. The controller leaves the sum
// with its last reference: while a rollout removes the old ReplicaSet, the new one still leads to the Deployment.
type summedScale struct{ scale, references int32 }

func compareControllers(a, b controller) int {
	return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.group, b.group))
}

// changed returns the sum after each of the references came (by 1) or went (by -1). It returns nil if the order of the
// pods matters from then on: a controller is not found, or two references lead to one controller with different scales,
// one from the object and the other from a lookup. Each reference costs O(log n).
func (s wantedScale) changed(by int32, refs ...metav1.OwnerReference) *wantedScale {
	controllers := s.controllers.Edit()
	for i := range refs {
		found := s.by.controllerOf(s.namespace, &refs[i]).found
		id := s.by.options.id(found)
		was, _ := controllers.Get(id)
		if found.kind == "" || was.references > 0 && was.scale != found.scale {
			return nil
		}
		is := summedScale{found.scale, was.references + by}
		if was.references == 0 {
			s.total += int64(found.scale)
		}
		if is.references == 0 {
			s.total -= int64(found.scale)
			controllers.Delete(id)
		} else {
			controllers.Set(id, is)
		}
	}
	s.controllers, s.sum = controllers.Map(), s.by.options.total(s.total)
	return &s
}

// expectInOrder is expect in the order of the pods' names, which decides what comes first where controllers are not all
// found. The order is the first pod by name of each reference, then the reference. Upstream follows the random order of
// its cache's map, so its status can name another pod on each pass, and each such change of the message is a write.
//
// It costs n log n for n references, and a pass over the pods if the first pod of a reference is unknown.
func (x *Index) expectInOrder(st *budgetState, each func(reference, finding)) expectation {
	refs, w := st.refs.list(), x.workloads
	// The error "found no controllers for pod" needs the pod's name, and the order needs all names.
	if slices.ContainsFunc(refs, func(r reference) bool { return r.first == "" }) {
		again := newPodCounter()
		for _, pod := range x.podsOf(st) {
			again.add(pod)
		}
		refs = again.references().list()
	}
	slices.SortFunc(refs, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.first, b.first), compareReferences(a.ref, b.ref))
	})
	var e expectation
	// scales has the found controllers by identity. asked has the position in e.needs of each lookup without its
	// version: a pod that names "apps/v1beta1 Deployment web" needs no lookup of its own beside "apps/v1 Deployment
	// web".
	scales := map[controller]int32{}
	asked := map[lookupKey]int{}
	countedAlready := func(r reference) bool {
		_, found := scales[x.options.id(controllerNamed(groupOf(r.ref.APIVersion), &r.ref))]
		return found
	}
	// open are the references that need a lookup. The lookup is no need where asks is false.
	type openReference struct {
		reference
		finding
		asks bool
	}
	var open []openReference
	for _, r := range refs {
		f := w.controllerOf(st.Namespace, &r.ref)
		// Upstream looks at nothing but the UID of a controller that is counted already (D-39).
		if x.options.orderDecides() && countedAlready(r) {
			continue
		}
		if f.need != nil {
			// No need follows a problem, since no answer removes the problem.
			open = append(open, openReference{r, f, e.problem == nil})
			continue
		}
		if each != nil {
			each(r, f)
		}
		switch {
		case f.found.kind != "":
			id := x.options.id(f.found)
			// One controller of two scales, one of which is from a lookup, has the larger one.
			if known, counted := scales[id]; !counted || x.options.orderDecides() || f.found.scale > known {
				scales[id] = f.found.scale
			}
		// The first problem decides the status. The loop goes on, because each wants every controller.
		case e.problem != nil:
		// The kind has no scale, the lookup failed, or the object exists twice. The error names the controller.
		case f.problem != nil:
			e.problem = f.problem
		default:
			// The lookup has shown that the controller does not exist, or that another object has its name (the UIDs
			// differ). The text is upstream's: tools search the condition for it.
			e.problem = &purekube.ObjectError{
				Kind: podKind, Namespace: st.Namespace, Name: r.first, Field: "metadata.ownerReferences",
				Err: fmt.Errorf("found no controllers for pod %q", r.first),
			}
		}
	}
	for _, o := range open {
		// A controller that is counted needs no lookup, whichever pod comes first: a pod may name a Deployment that the
		// ReplicaSet of another pod leads to. A ReplicaSet with a Deployment is never counted.
		if !x.options.orderDecides() && countedAlready(o.reference) {
			continue
		}
		if each != nil {
			each(o.reference, o.finding)
		}
		if !o.asks {
			continue
		}
		l := lookupKeyOf(*o.need).unversioned()
		if at, known := asked[l]; !known {
			asked[l] = len(e.needs)
			e.needs = append(e.needs, *o.need)
		} else if o.need.APIVersion < e.needs[at].APIVersion {
			// A scale has no version: one lookup serves all of them.
			e.needs[at].APIVersion = o.need.APIVersion
		}
	}
	// No snapshot has so many scales of 32 bits that their sum overflows 64 bits.
	for _, scale := range scales {
		e.sum += int64(scale)
	}
	e.sum = x.options.total(e.sum)
	// Needs are sorted by what a caller looks up and not by pod, so that equal snapshots give equal results.
	slices.SortFunc(e.needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return e
}
