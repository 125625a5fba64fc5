package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// In the tests a pod's group stands in a label.
const groupLabel = "group"

func groupOfLabel(pod *corev1.Pod) string { return pod.Labels[groupLabel] }

var grouped = Options{PodGroupOf: groupOfLabel}

func groupKey(name string) purekube.Key { return PodGroupKey(ns, name) }

func inGroup(name string) podOption {
	return func(p *corev1.Pod) { p.Labels = map[string]string{groupLabel: name} }
}

func newGroup(name string, entries ...corev1.PodResourceClaim) PodGroup {
	return PodGroup{APIVersion: "scheduling.k8s.io/v1beta1", Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceClaims: entries}
}

func groupWants(entry, template string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: &template}
}

func groupUses(entry, claim string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimName: &claim}
}

func (g PodGroup) got(entry, claim string) PodGroup {
	g.ResourceClaimStatuses = append(g.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &claim})
	return g
}

func (g PodGroup) uid(uid types.UID) PodGroup { g.UID = uid; return g }
func (g PodGroup) deleting() PodGroup         { g.Deleting = true; return g }

// ofGroup is a claim that was generated for an entry of a group with that UID.
func ofGroup(name string, uid types.UID, entry string) claimOption {
	return func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: name, UID: uid, Controller: ptr.To(true)}}
		c.Annotations = map[string]string{PodClaimAnnotation: entry}
	}
}

func forGroup(name string, uid types.UID) claimOption {
	return consumer(resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: name, UID: uid})
}

// What a plan comes to, in words: its actions, or its Needs.
func groupPlan(t *testing.T, s Snapshot, key purekube.Key, o Options, want error) []string {
	t.Helper()
	r, err := Plan(s, key, o)
	if want == nil {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, want)
	}
	out := lines(r.Actions)
	for _, n := range r.Needs {
		out = append(out, "Need "+n.Kind+" "+n.Name)
	}
	for _, e := range r.Events {
		out = append(out, "Event "+e.Regarding.Kind+" "+e.Regarding.Name+": "+e.Message)
	}
	return out
}

func TestPodGroupPass(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	up := Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         []string // by default
		upstream     []string // nil: the same
		err          error
	}{
		{name: "creates", reason: "one claim for all pods of the group", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu},
			want: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
		{name: "adopts", reason: "the status could not be written", s: Snapshot{
			PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu")))},
			want: []string{"SetClaimStatuses podgroup ml/g: gpu=c"}},
		{name: "D-31 all names", reason: "what an apply leaves out, the server takes away", s: Snapshot{
			PodGroups: []PodGroup{newGroup("g", groupWants("a", "gpu"), groupWants("b", "gpu")).got("a", "c1")},
			Claims:    claims(newClaim("c1", ofGroup("g", "uid-g", "a")), newClaim("c2", ofGroup("g", "uid-g", "b")))},
			want: []string{"SetClaimStatuses podgroup ml/g: a=c1, b=c2"}, upstream: []string{"SetClaimStatuses podgroup ml/g: b=c2"}},
		{name: "at rest", reason: "nothing is written twice", s: Snapshot{
			PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c")}, Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu")))}},
		{name: "deleting", reason: "a group that goes gets nothing", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu")).deleting()}, Templates: gpu}},
		{name: "D-37 seen to be deleted", reason: "it may have come back; upstream's pass does not ask", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu, Deleted: deletedUIDs("uid-g")},
			want: []string{"Need PodGroup g"}, upstream: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
		{name: "D-37 seen to be deleted, and it is gone", reason: "its claims would have to be taken back", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu,
			Deleted: deletedUIDs("uid-g"), Answers: askedGroups("g")},
			upstream: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
		{name: "D-37 seen to be deleted, and it is there", reason: "the API server's word wins", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu,
			Deleted: deletedUIDs("uid-g"), Answers: askedGroups(newGroup("g"))},
			want: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}, upstream: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
		{name: "no entries", reason: "nothing else about it matters", s: Snapshot{PodGroups: []PodGroup{newGroup("g").uid("")}}},
		{name: "one to create, one to ask for", reason: "nothing is done before the answer is there", s: Snapshot{
			PodGroups: []PodGroup{newGroup("g", groupWants("a", "gpu"), groupWants("b", "gpu")).got("b", "c")}, Templates: gpu},
			want: []string{"Need ResourceClaim c"}},
		{name: "named claim is its predecessor's", reason: "the owner is told by its UID", s: Snapshot{
			PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c")}, Claims: claims(newClaim("c", ofGroup("g", "uid-old", "gpu"))), Templates: gpu},
			want: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
		{name: "named claim is not cached", reason: "D-28 holds for groups", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c")}, Templates: gpu},
			want: []string{"Need ResourceClaim c"}},
		{name: "user's claim", reason: "its user makes it", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupUses("gpu", "c"))}}},
		{name: "D-8 failing entry", reason: "it does not hold back the other", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("a", "none"), groupWants("b", "gpu"))}, Templates: gpu},
			want: []string{"CreateClaim podgroup ml/g b: g-b-*", "SetClaimStatuses podgroup ml/g: b pending",
				`Event PodGroup g: PodGroupResourceClaim a: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found`},
			upstream: []string{`Event PodGroup g: PodGroupResourceClaim a: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found`}, err: errTemplateNotFound},
		{name: "D-8 failing entry behind another", reason: "upstream leaves the name of what it made to the next pass", s: Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("a", "gpu"), groupWants("b", "none"))}, Templates: gpu},
			want: []string{"CreateClaim podgroup ml/g a: g-a-*", "SetClaimStatuses podgroup ml/g: a pending",
				`Event PodGroup g: PodGroupResourceClaim b: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found`},
			upstream: []string{"CreateClaim podgroup ml/g a: g-a-*",
				`Event PodGroup g: PodGroupResourceClaim b: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found`}, err: errTemplateNotFound},
		{name: "unsupported entry", reason: "it may be from a newer API", s: Snapshot{PodGroups: []PodGroup{newGroup("g", corev1.PodResourceClaim{Name: "x"})}},
			want: []string{"Event PodGroup g: PodGroupResourceClaim x: checking for claim before creating it: PodGroup ml/g, spec.resourceClaim x: none of the supported fields are set"}, err: errUnsupported},
		{name: "another version of the API", reason: "the group decides about it", s: Snapshot{
			PodGroups: []PodGroup{{APIVersion: "scheduling.k8s.io/v1alpha2", Namespace: ns, Name: "g", UID: "uid-g", ResourceClaims: []corev1.PodResourceClaim{groupWants("gpu", "gpu")}}}, Templates: gpu},
			want: []string{"CreateClaim podgroup ml/g gpu: g-gpu-*", "SetClaimStatuses podgroup ml/g: gpu pending"}},
	} {
		for mode, o := range map[string]Options{"default": grouped, "v1.37": up} {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				want := tc.want
				if o.matchUpstream() && tc.upstream != nil {
					want = tc.upstream
				}
				require.Equal(t, want, groupPlan(t, tc.s, groupKey("g"), o, tc.err), tc.reason)
				all, whole := PlanAll(tc.s, o)
				require.NoError(t, whole)
				if len(want) == 0 {
					require.Empty(t, all)
				} else {
					require.Equal(t, groupKey("g"), all[0].Key)
				}
			})
		}
	}
}

func TestPodOfAGroup(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	g := newGroup("g", groupWants("gpu", "gpu"), groupUses("shared", "s"))
	member := func(options ...podOption) []*corev1.Pod {
		return pods(newPod("p", append([]podOption{inGroup("g")}, options...)...))
	}
	groupsClaim := newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated)
	up := Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         []string
		upstream     []string // nil: the same
		err, upErr   error
	}{
		{name: "takes its group's claim", reason: "name, claim and template match", s: Snapshot{Pods: member(wants("gpu", "gpu")), PodGroups: []PodGroup{g}, Claims: claims(groupsClaim), Templates: gpu},
			want: []string{"SetClaimStatuses ml/p: gpu=c"}},
		{name: "waits for its group's claim", reason: "a pod never makes it", s: Snapshot{Pods: member(wants("gpu", "gpu")), PodGroups: []PodGroup{g}, Templates: gpu}},
		{name: "named claim unknown, waits for its group's", reason: "no answer changes that: nothing is reserved for a pod without a node",
			s: Snapshot{Pods: member(has("gpu", "gpu", "gone")), PodGroups: []PodGroup{g}, Templates: gpu}, upstream: []string{"Need ResourceClaim gone"}},
		{name: "named claim unknown, on a node", reason: "it may be there, to be reserved", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "gone")), PodGroups: []PodGroup{g}, Templates: gpu},
			want: []string{"Need ResourceClaim gone"}},
		{name: "named claim and group unknown", reason: "the claim may be the pod's, and then the group decides nothing", s: Snapshot{Pods: member(has("gpu", "gpu", "gone")), Templates: gpu},
			want: []string{"Need ResourceClaim gone"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "named claim unknown, its group's is there", reason: "which of the two to name is not known", s: Snapshot{Pods: member(has("gpu", "gpu", "gone")),
			PodGroups: []PodGroup{g}, Claims: claims(groupsClaim), Templates: gpu},
			want: []string{"Need ResourceClaim gone"}},
		{name: "named claim unknown, an entry of its own", reason: "the group makes nothing for it", s: Snapshot{Pods: member(has("nic", "gpu", "gone")), PodGroups: []PodGroup{g}, Templates: gpu},
			want: []string{"Need ResourceClaim gone"}},
		{name: "another template", reason: "it is the pod's own entry then", s: Snapshot{Pods: member(wants("gpu", "other")), PodGroups: []PodGroup{g}, Templates: templates(newTemplate("other"))},
			want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}},
		{name: "another name", reason: "it is the pod's own entry then", s: Snapshot{Pods: member(wants("nic", "gpu")), PodGroups: []PodGroup{g}, Templates: gpu},
			want: []string{"CreateClaim ml/p nic: p-nic-*", "SetClaimStatuses ml/p: nic pending"}},
		{name: "reserves for the group", reason: "not for each of its pods", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "c")), PodGroups: []PodGroup{g}, Claims: claims(groupsClaim)},
			want: []string{"Reserve ml/c: for podgroup ml/g"}},
		{name: "reserves the user's claim for the group", reason: "the group names it too", s: Snapshot{Pods: member(onNode, uses("shared", "s")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("s", allocated))},
			want: []string{"Reserve ml/s: for podgroup ml/g"}},
		{name: "reserves another user's claim for the pod", reason: "the group does not name it", s: Snapshot{Pods: member(onNode, uses("mine", "s")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("s", allocated))},
			want: []string{"Reserve ml/s: for pod ml/p"}},
		{name: "reserves another claim for the pod", reason: "the group's entry of the name names a different one", s: Snapshot{Pods: member(onNode, uses("shared", "mine")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("mine", allocated))},
			want: []string{"Reserve ml/mine: for pod ml/p"}},
		{name: "reserved for another group", reason: "that serves the pods of that one", s: Snapshot{Pods: member(onNode, uses("shared", "s")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("s", allocated, forGroup("h", "uid-h")))},
			want: []string{"Reserve ml/s: for podgroup ml/g"}},
		{name: "reserved for a pod of the group's name", reason: "a pod is no group", s: Snapshot{Pods: member(onNode, uses("shared", "s")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("s", allocated, reservedFor("g")))},
			want: []string{"Reserve ml/s: for podgroup ml/g"}},
		{name: "in no group, reserved for one without a name", reason: "that is not the pod's", s: Snapshot{Pods: pods(newPod("p", onNode, uses("shared", "s"))), Claims: claims(newClaim("s", allocated, forGroup("", "uid-h")))},
			want: []string{"Reserve ml/s: for pod ml/p"}},
		{name: "another group's claim", reason: "its own group's is not there yet", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "c")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("c", ofGroup("h", "uid-h", "gpu"), allocated)), Templates: gpu}},
		{name: "its group's claim in another namespace", reason: "an answer from elsewhere is not the claim", s: Snapshot{Pods: member(has("gpu", "gpu", "gone")), PodGroups: []PodGroup{g}, Claims: claims(groupsClaim),
			Answers: askedClaims(newClaim("gone", ofGroup("g", "uid-g", "gpu"), inNamespace("other")))},
			want: []string{"SetClaimStatuses ml/p: gpu=c"}},
		{name: "claim of a pod of the group's name", reason: "a pod is no group", s: Snapshot{Pods: member(has("gpu", "gpu", "c1")), PodGroups: []PodGroup{g}, Claims: claims(newClaim("c1", madeFor("g", "gpu")), groupsClaim)},
			want: []string{"SetClaimStatuses ml/p: gpu=c"}},
		{name: "in no group, the claim of one without a name", reason: "that is not the pod's", s: Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Claims: claims(newClaim("c", ofGroup("", "uid-h", "gpu"))), Templates: gpu},
			want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}},
		{name: "reserved for the group", reason: "that serves all of its pods", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "c")), PodGroups: []PodGroup{g},
			Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g")))}},
		{name: "D-33 reserved for its predecessor", reason: "that reservation goes, and the allocation with it", s: Snapshot{Pods: member(onNode, uses("shared", "s")), PodGroups: []PodGroup{g},
			Claims: claims(newClaim("s", allocated, forGroup("g", "uid-old")))},
			want: []string{"Reserve ml/s: for podgroup ml/g"}, upstream: []string{}},
		{name: "D-33 its predecessor's claim", reason: "the garbage collector takes that away", s: Snapshot{Pods: member(has("gpu", "gpu", "c")), PodGroups: []PodGroup{g},
			Claims: claims(newClaim("c", ofGroup("g", "uid-old", "gpu")), newClaim("c2", ofGroup("g", "uid-g", "gpu")))},
			want: []string{"SetClaimStatuses ml/p: gpu=c2"}, upstream: []string{}},
		{name: "D-32 group is not cached", reason: "it may be too new for the cache", s: Snapshot{Pods: member(wants("gpu", "gpu")), Templates: gpu},
			want: []string{"Need PodGroup g"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "D-32 group is looked up", reason: "the answer counts as the group", s: Snapshot{Pods: member(wants("gpu", "gpu"), wants("nic", "gpu")), Templates: gpu, Answers: askedGroups(g), Claims: claims(groupsClaim)},
			want: []string{"CreateClaim ml/p nic: p-nic-*", "SetClaimStatuses ml/p: gpu=c, nic pending"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "D-32 group is looked up, the answer without a name", reason: "it was asked for by that name", s: Snapshot{Pods: member(onNode, uses("shared", "s")), Claims: claims(newClaim("s", allocated)),
			Answers: replies{needOf(PodGroupKey(ns, "g")): {Object: PodGroup{UID: "uid-g", ResourceClaims: g.ResourceClaims}}}},
			want: []string{"Reserve ml/s: for podgroup ml/g"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "group without UID", reason: "nothing can be the group's, the pod's own claims go on", s: Snapshot{Pods: member(onNode, has("a", "gpu", "c1"), wants("gpu", "gpu")), PodGroups: []PodGroup{g.uid("")},
			Claims: claims(newClaim("c1", madeFor("p", "a"), allocated)), Templates: gpu},
			want: []string{"Reserve ml/c1: for pod ml/p"}, upstream: []string{}, err: errNoUID, upErr: errNoUID},
		{name: "D-32 nobody has the group, a claim is reserved for it", reason: "it may be the pod's group all the same", s: Snapshot{Pods: member(onNode, uses("shared", "s")), Answers: askedGroups("g"),
			Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))}, upErr: errPodGroupNotFound},
		{name: "D-32 group is not cached, a claim is reserved for its name", reason: "whether the reservation is the group's or its predecessor's, its UID says",
			s:    Snapshot{Pods: member(onNode, uses("shared", "s")), Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))},
			want: []string{"Need PodGroup g"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "D-32 nobody has the group", reason: "the pod's own claims go on, and no other is made",
			s: Snapshot{Pods: member(onNode, has("a", "gpu", "c1"), wants("b", "gpu"), wants("c", "gpu"), uses("d", "s")), Templates: gpu, Answers: askedGroups("g"),
				Claims: claims(newClaim("c1", madeFor("p", "a"), allocated), newClaim("c2", madeFor("p", "b")), newClaim("s", allocated))},
			want: []string{"SetClaimStatuses ml/p: a=c1, b=c2", "Reserve ml/c1: for pod ml/p", "Reserve ml/s: for pod ml/p"}, upstream: []string{},
			err: errPodGroupNotFound, upErr: errPodGroupNotFound},
		{name: "group is known to be deleted", reason: "the cache lags", s: Snapshot{Pods: member(wants("gpu", "gpu")), PodGroups: []PodGroup{g}, Templates: gpu, Deleted: deletedUIDs("uid-g")},
			want: []string{"Need PodGroup g"}, upstream: []string{}},
		{name: "two groups of the name", reason: "it is not known whose entry it is", s: Snapshot{Pods: member(wants("gpu", "gpu")), PodGroups: []PodGroup{g, g}, Templates: gpu},
			err: purekube.ErrDuplicate, upErr: purekube.ErrDuplicate},
		{name: "unsupported entry of the group", reason: "upstream gives up, the others can be told", s: Snapshot{Pods: member(wants("gpu", "gpu")),
			PodGroups: []PodGroup{newGroup("g", corev1.PodResourceClaim{Name: "x"}, groupWants("gpu", "gpu"))}, Claims: claims(groupsClaim)},
			want:     []string{"SetClaimStatuses ml/p: gpu=c"},
			upstream: []string{"Event Pod p: PodResourceClaim gpu: PodGroup ml/g claim x: none of the supported fields are set"}, upErr: errUnsupported},
		{name: "unsupported entry of the group, when reserving", reason: "upstream gives up, without an event", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "c")),
			PodGroups: []PodGroup{newGroup("g", corev1.PodResourceClaim{Name: "x"}, groupWants("gpu", "gpu"))}, Claims: claims(groupsClaim)},
			want: []string{"Reserve ml/c: for podgroup ml/g"}, upstream: []string{}, upErr: errUnsupported},
		{name: "two unsupported entries of the group", reason: "upstream names the first", s: Snapshot{Pods: member(wants("gpu", "gpu")),
			PodGroups: []PodGroup{newGroup("g", corev1.PodResourceClaim{Name: "x"}, corev1.PodResourceClaim{Name: "y"}, groupWants("gpu", "gpu"))}, Claims: claims(groupsClaim)},
			want:     []string{"SetClaimStatuses ml/p: gpu=c"},
			upstream: []string{"Event Pod p: PodResourceClaim gpu: PodGroup ml/g claim x: none of the supported fields are set"}, upErr: errUnsupported},
		{name: "unsupported entry of the group, before an entry that it does not concern", reason: "upstream gives up, and reserves nothing after it",
			s: Snapshot{Pods: member(onNode, uses("mine", "m"), uses("shared", "s")),
				PodGroups: []PodGroup{newGroup("g", groupUses("shared", "s"), corev1.PodResourceClaim{Name: "x"})}, Claims: claims(newClaim("m", allocated), newClaim("s", allocated))},
			want: []string{"Reserve ml/m: for pod ml/p", "Reserve ml/s: for podgroup ml/g"}, upstream: []string{}, upErr: errUnsupported},
		{name: "unsupported entry behind the pod's", reason: "nobody gets that far", s: Snapshot{Pods: member(onNode, has("gpu", "gpu", "c")),
			PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"), corev1.PodResourceClaim{Name: "x"})}, Claims: claims(groupsClaim)},
			want: []string{"Reserve ml/c: for podgroup ml/g"}},
		{name: "D-37 the answer was seen to be deleted", reason: "it has come back", s: Snapshot{Pods: member(wants("gpu", "gpu")), Claims: claims(groupsClaim), Templates: gpu,
			Answers: askedGroups(g), Deleted: deletedUIDs("uid-g")}, want: []string{"SetClaimStatuses ml/p: gpu=c"}, upstream: []string{}, upErr: errPodGroupNotFound},
		{name: "D-34 its group's claim was made again", reason: "the old one is looked up, then the new one is named", s: Snapshot{Pods: member(has("gpu", "gpu", "gone")),
			PodGroups: []PodGroup{g.got("gpu", "c")}, Claims: claims(groupsClaim), Answers: askedClaims("gone")},
			want: []string{"SetClaimStatuses ml/p: gpu=c"}},
	} {
		for _, mode := range []struct {
			name string
			o    Options
			err  error
		}{{"default", grouped, tc.err}, {"v1.37", up, tc.upErr}} {
			t.Run(tc.name+"/"+mode.name, func(t *testing.T) {
				want := tc.want
				if mode.o.matchUpstream() && tc.upstream != nil {
					want = tc.upstream
				}
				got := groupPlan(t, tc.s, podKey("p"), mode.o, mode.err)
				if len(want) == 0 {
					require.Empty(t, got, tc.reason)
				} else {
					require.Equal(t, want, got, tc.reason)
				}
			})
		}
	}
}

func TestClaimOfAGroup(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "gpu"))
	claim := newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g"))
	released := []string{"Release ml/c: g, deallocate", "RemoveFinalizer ml/c"}
	up := Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		o            Options
		want         []string
		err          error
	}{
		{name: "group is there", reason: "it may need the claim", s: Snapshot{PodGroups: []PodGroup{g}}, o: grouped},
		{name: "group is being deleted", reason: "until it is gone its pods may run", s: Snapshot{PodGroups: []PodGroup{g.deleting()}}, o: grouped},
		{name: "all its pods are done", reason: "others may come", s: Snapshot{PodGroups: []PodGroup{g}, Pods: pods(newPod("p", inGroup("g"), phase(corev1.PodSucceeded)))}, o: grouped},
		{name: "D-37 group was seen to be deleted", reason: "that proves no absence", s: Snapshot{Deleted: deletedUIDs("uid-g")}, o: grouped, want: []string{"Need PodGroup g"}},
		{name: "group was seen to be deleted and is gone", reason: "the API server says so", s: Snapshot{Deleted: deletedUIDs("uid-g"), Answers: askedGroups("g")}, o: grouped, want: released},
		{name: "D-37 group is there, and was seen to be deleted", reason: "it may have come back", s: Snapshot{PodGroups: []PodGroup{g}, Deleted: deletedUIDs("uid-g")}, o: grouped, want: []string{"Need PodGroup g"}},
		{name: "D-37 group was seen to be deleted and is there", reason: "it has come back", s: Snapshot{PodGroups: []PodGroup{g}, Deleted: deletedUIDs("uid-g"), Answers: askedGroups(g)}, o: grouped},
		{name: "D-37 group was seen to be deleted and is gone", reason: "the cache lags", s: Snapshot{PodGroups: []PodGroup{g}, Deleted: deletedUIDs("uid-g"), Answers: askedGroups("g")}, o: grouped, want: released},
		{name: "D-37 upstream", reason: "it releases at once", s: Snapshot{PodGroups: []PodGroup{g}, Deleted: deletedUIDs("uid-g"), Answers: askedGroups(g)}, o: up, want: released},
		{name: "group is not cached", reason: "absence proves nothing", s: Snapshot{}, o: grouped, want: []string{"Need PodGroup g"}},
		{name: "group is gone", reason: "the API server says so", s: Snapshot{Answers: askedGroups("g")}, o: grouped, want: released},
		{name: "group is there after all", reason: "the API server says so", s: Snapshot{Answers: askedGroups(g)}, o: grouped},
		{name: "another of its name at the server", reason: "it was replaced", s: Snapshot{Answers: askedGroups(g.uid("new"))}, o: grouped, want: released},
		{name: "D-21 another of its name in the cache", reason: "which may be the predecessor", s: Snapshot{PodGroups: []PodGroup{g.uid("other")}}, o: grouped, want: []string{"Need PodGroup g"}},
		{name: "D-21 upstream", reason: "it takes the cache's word", s: Snapshot{PodGroups: []PodGroup{g.uid("other")}}, o: up, want: released},
		{name: "two of its name", reason: "the snapshot has conflicting information about it, so the reservation is kept", s: Snapshot{PodGroups: []PodGroup{g, g}}, o: grouped, err: purekube.ErrDuplicate},
		{name: "PodGroups are off", reason: "nobody knows how to ask", s: Snapshot{PodGroups: []PodGroup{g.uid("other")}}, o: Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.s.Claims = claims(claim)
			got := groupPlan(t, tc.s, claimKey("c"), tc.o, tc.err)
			if len(tc.want) == 0 {
				require.Empty(t, got, tc.reason)
				return
			}
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

// What is neither a pod nor a PodGroup is kept, whatever its name, and nobody is asked for it.
func TestConsumersThatAreNotPodGroups(t *testing.T) {
	for name, ref := range map[string]resourcev1.ResourceClaimConsumerReference{
		"another resource of the group":  {APIGroup: "scheduling.k8s.io", Resource: "workloads", Name: "g", UID: "uid-g"},
		"the resource of another group":  {APIGroup: "example.com", Resource: "podgroups", Name: "g", UID: "uid-g"},
		"the resource of the core group": {Resource: "podgroups", Name: "g", UID: "uid-g"},
	} {
		s := Snapshot{Claims: claims(newClaim("c", allocated, consumer(ref))), Deleted: deletedUIDs("uid-g")}
		require.Empty(t, groupPlan(t, s, claimKey("c"), grouped, nil), name)
	}
}

// D-27: with PodGroups off here and on in the cluster, a pod stays on its group's claim.
func TestD27_GroupsClaimIsLeftAlone(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	theirs := newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated)
	s := Snapshot{Pods: pods(newPod("p", onNode, has("gpu", "gpu", "c"), wants("nic", "gpu"))), Claims: claims(theirs), Templates: gpu}
	require.Equal(t, []string{"CreateClaim ml/p nic: p-nic-*", "SetClaimStatuses ml/p: gpu=c, nic pending"}, groupPlan(t, s, podKey("p"), Options{}, ErrPodGroupClaim),
		"the entry keeps its status, and the other one gets its claim")
	r, err := Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Equal(t, []string{"CreateClaim ml/p gpu: p-gpu-*", "CreateClaim ml/p nic: p-nic-*", "SetClaimStatuses ml/p: gpu pending, nic pending"}, lines(r.Actions), "upstream moves the pod off its group's claim")

	s = Snapshot{Pods: pods(newPod("p", onNode, has("gpu", "gpu", "c"))), Answers: askedClaims(theirs), Templates: gpu}
	require.Empty(t, groupPlan(t, s, podKey("p"), Options{}, ErrPodGroupClaim), "so it is when the claim had to be looked up")
	made := []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}
	require.Equal(t, made, groupPlan(t, s, podKey("p"), Options{MatchUpstream: purekube.V1_37}, nil), "under MatchUpstream it is a claim of another owner")

	for name, owner := range map[string]metav1.OwnerReference{
		"another kind of the group":        {APIVersion: "scheduling.k8s.io/v1beta1", Kind: "Workload"},
		"the kind of another group":        {APIVersion: "example.com/v1beta1", Kind: "PodGroup"},
		"the kind of no API that there is": {APIVersion: "scheduling.k8s.io/v1beta1/x", Kind: "PodGroup"},
	} {
		c := theirs.DeepCopy()
		c.OwnerReferences[0].APIVersion, c.OwnerReferences[0].Kind = owner.APIVersion, owner.Kind
		s = Snapshot{Pods: pods(newPod("p", onNode, has("gpu", "gpu", "c"))), Claims: claims(c), Templates: gpu}
		require.Equal(t, made, groupPlan(t, s, podKey("p"), Options{}, nil), name)
	}

	s = Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "s"))), Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))}
	require.Empty(t, groupPlan(t, s, podKey("p"), Options{}, ErrPodGroupClaim), "a claim that is reserved for a group is not reserved for a pod as well")
	require.Equal(t, []string{"Reserve ml/s: for pod ml/p"}, groupPlan(t, s, podKey("p"), Options{MatchUpstream: purekube.V1_37}, nil))
}

func TestBadPodGroups(t *testing.T) {
	five := newGroup("five")
	for _, e := range []string{"a", "b", "c", "d", "e"} {
		five.ResourceClaims = append(five.ResourceClaims, groupWants(e, "gpu"))
	}
	foreign := newGroup("foreign", groupWants("a", "gpu"))
	foreign.APIVersion = "example.com/v1"
	s := Snapshot{
		PodGroups: []PodGroup{newGroup("", groupWants("a", "gpu")), newGroup("two", groupWants("a", "gpu")), newGroup("two"), five, foreign,
			newGroup("twice", groupWants("a", "gpu"), groupWants("a", "gpu")), newGroup("uidless", groupWants("a", "gpu")).uid("")},
		Templates: templates(newTemplate("gpu")),
	}
	outcomes, whole := PlanAll(s, grouped)
	require.EqualError(t, whole, "PodGroup: metadata.name: required")
	errors := map[string]string{}
	actions := map[string]int{}
	for _, o := range outcomes {
		errors[o.Key.Name], actions[o.Key.Name] = errorText(o.Err), len(o.Result.Actions)
		r, err := Plan(s, o.Key, grouped)
		require.Equal(t, lines(o.Result.Actions), lines(r.Actions))
		require.ErrorContains(t, err, o.Err.Error())
		require.ErrorContains(t, err, whole.Error(), "each plan says what is wrong with the snapshot")
	}
	require.Equal(t, map[string]string{
		"two":     "PodGroup ml/two: several objects in the snapshot have this name",
		"five":    "PodGroup ml/five: spec.resourceClaims: more than 4 entries",
		"foreign": "PodGroup ml/foreign: apiVersion: not a version of scheduling.k8s.io",
		"twice":   "PodGroup ml/twice: spec.resourceClaims[1].name: several entries have this name",
		"uidless": "PodGroup ml/uidless: metadata.uid: no UID",
	}, errors)
	require.Equal(t, map[string]int{"two": 0, "five": 5, "foreign": 0, "twice": 2, "uidless": 0}, actions, "the valid rest gets its claims")
	require.Error(t, NewIndex(s, grouped).Err())

	r, _ := Plan(s, groupKey("five"), Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37})
	require.Len(t, r.Actions, 6, "upstream does not count them")

	_, whole = PlanAll(s, Options{})
	require.NoError(t, whole, "without PodGroupOf nobody looks at them")
	_, whole = Plan(s, groupKey("five"), Options{})
	require.NoError(t, whole, "without PodGroupOf nobody looks at them")
}

func TestPodGroupRequests(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "gpu"))
	g.APIVersion = "scheduling.k8s.io/v1alpha2"
	r, err := Plan(Snapshot{PodGroups: []PodGroup{g}, Templates: templates(newTemplate("gpu"))}, groupKey("g"), grouped)
	require.NoError(t, err)
	create := r.Actions[0].Request(nil)
	claim := create.Object.(*resourcev1.ResourceClaim)
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Name: "g", UID: "uid-g", Controller: ptr.To(true)}}, claim.OwnerReferences)
	claim.Name = "g-gpu-l92c5"
	apply := r.Actions[1].Request([]runtime.Object{claim})
	require.Equal(t, "patch podgroups/status ml/g", apply.String())
	require.Equal(t, "v1alpha2", apply.Resource.Version)
	require.Equal(t, `{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha2","metadata":{"name":"g","namespace":"ml","uid":"uid-g"},`+
		`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"g-gpu-l92c5"}]}}`, string(apply.Patch), "D-26, D-31")
	require.Equal(t, fieldManager, apply.FieldManager)
	require.True(t, apply.Force)

	after := r.Actions[1].(SetClaimStatuses).withCreated(map[string]string{"gpu": "g-gpu-l92c5"}).ApplyToPodGroup(g)
	require.Equal(t, []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("g-gpu-l92c5")}}, after.ResourceClaimStatuses)
	require.Empty(t, g.ResourceClaimStatuses)
	require.Equal(t, g.ResourceClaims, after.ResourceClaims)

	event, ok := r.Actions[0].(CreateClaim).FailureEvent(errNoUID)
	require.True(t, ok)
	require.Equal(t, corev1.ObjectReference{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Namespace: ns, Name: "g", UID: "uid-g"}, event.Regarding)
	require.Equal(t, "PodGroupResourceClaim gpu: create ResourceClaim : no UID", event.Message)

	r, err = Plan(Snapshot{PodGroups: []PodGroup{g}}, groupKey("g"), grouped)
	require.ErrorIs(t, err, errTemplateNotFound)
	require.Len(t, r.Events, 1)
	require.Equal(t, event.Regarding, r.Events[0].Regarding, "an event of a plan is about the same object")
}

func TestAffectedByPodGroup(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c")
	waiting := newPod("waiting", inGroup("g"), wants("gpu", "gpu"))
	s := Snapshot{
		Pods:   pods(waiting, newPod("settled", inGroup("g"), has("gpu", "gpu", "c")), newPod("stranger", wants("gpu", "gpu")), newPod("elsewhere", inGroup("h"), wants("gpu", "gpu"))),
		Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated), newClaim("held", allocated, forGroup("g", "uid-g")), newClaim("other", allocated, forGroup("h", "uid-h"))),
	}
	for _, tc := range []struct {
		name, reason string
		s            func(Snapshot) Snapshot
		old, new     *PodGroup
		o            Options
		want         []string
	}{
		{"added", "its pods were without it", nil, nil, &g, grouped, []string{"Pod/ml/settled", "Pod/ml/waiting", "ResourceClaim/ml/held"}},
		{"nothing changed", "a pod with work to do is named all the same", nil, &g, &g, grouped, []string{"Pod/ml/waiting"}},
		{"deleted", "its claims lose it as a consumer", func(s Snapshot) Snapshot { s.PodGroups = nil; return s }, &g, nil, grouped, []string{"Pod/ml/settled", "Pod/ml/waiting", "ResourceClaim/ml/c", "ResourceClaim/ml/held"}},
		{"replaced", "another group has its name, and needs claims of its own", nil, &g, ptr.To(g.uid("new")), grouped, []string{"Pod/ml/waiting", "PodGroup/ml/g", "ResourceClaim/ml/c", "ResourceClaim/ml/held"}},
		{"claims to make", "the group has work itself", nil, &g, ptr.To(newGroup("g", groupWants("gpu", "gpu"))), grouped, []string{"Pod/ml/waiting", "PodGroup/ml/g"}},
		{"both nil", "nothing happened", nil, nil, nil, grouped, []string{}},
		{"off", "PodGroups do not count", nil, nil, &g, Options{}, []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := s
			if tc.old != nil {
				before.PodGroups = []PodGroup{*tc.old}
			}
			x := NewIndex(before, tc.o)
			var keys []purekube.Key
			switch {
			case tc.new != nil:
				_, keys = x.With(Snapshot{PodGroups: []PodGroup{*tc.new}})
			case tc.old != nil:
				_, keys = x.Without(Snapshot{PodGroups: []PodGroup{*tc.old}})
			}
			require.ElementsMatch(t, tc.want, texts(keys), tc.reason)
		})
	}

	s.PodGroups = []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}
	require.Equal(t, []string{"Pod/ml/elsewhere", "Pod/ml/stranger", "Pod/ml/waiting", "PodGroup/ml/g"}, texts(affectedByTemplate(s, nil, newTemplate("gpu"), grouped))[:4])
	c := s.Claims[0]
	require.Equal(t, []string{"Pod/ml/waiting", "PodGroup/ml/g", "ResourceClaim/ml/c"}, texts(affectedByClaim(s, nil, c, grouped)), "the claim is the group's, and its pods wait for it")
}

func TestExplainPodGroup(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "gpu"), groupWants("nic", "none")).got("gpu", "c")
	s := Snapshot{
		PodGroups: []PodGroup{g}, Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g"))),
		Pods: pods(newPod("p", inGroup("g"), wants("gpu", "gpu"), wants("nic", "none")), newPod("lost", inGroup("h"), wants("gpu", "gpu"))),
	}
	codes := func(key purekube.Key, o Options, s Snapshot) (out []Code) {
		e, _ := NewIndex(s, o).Explain(key)
		all, _ := NewIndex(s, o).ExplainAll()
		x, _ := NewIndex(s, o).Explain(key)
		require.Equal(t, e, x)
		for _, r := range e.Reasons {
			out = append(out, r.Code)
		}
		if len(out) > 0 {
			require.Contains(t, all, e)
		}
		return out
	}
	require.Equal(t, []Code{ReasonClaimShared, ReasonClaimFailed}, codes(groupKey("g"), grouped, s))
	require.Equal(t, []Code{ReasonClaimAdopted, ReasonClaimWaiting}, codes(podKey("p"), grouped, s))
	require.Equal(t, []Code{ReasonPodGroupUnknown}, codes(podKey("lost"), grouped, s))
	require.Equal(t, []Code{ReasonConsumerMayRun, ReasonAllocated}, codes(claimKey("c"), grouped, s))
	found := Snapshot{PodGroups: []PodGroup{g}, Pods: pods(newPod("p", inGroup("g"), has("gpu", "gpu", "c"))), Answers: askedClaims(s.Claims[0])}
	require.Equal(t, []Code{ReasonClaimReserved}, codes(podKey("p"), grouped, found), "the named claim was looked up, and lists the group: the pod does not wait for it")
	s.Answers = askedGroups("h")
	require.Equal(t, []Code{ReasonPodGroupMissing, ReasonClaimFailed}, codes(podKey("lost"), grouped, s))
	require.Equal(t, []Code{ReasonPodGroupMissing}, codes(podKey("lost"), Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37}, s))
	s.PodGroups = []PodGroup{g.deleting()}
	require.Equal(t, []Code{ReasonPodGroupDeleting}, codes(groupKey("g"), grouped, s))
	s.PodGroups = []PodGroup{g}
	s.Deleted = deletedUIDs("uid-g")
	require.Equal(t, []Code{ReasonPodGroupUnknown}, codes(groupKey("g"), grouped, s))
	s.Answers = askedGroups("g")
	require.Equal(t, []Code{ReasonPodGroupDeleted}, codes(groupKey("g"), grouped, s))
	s.Deleted = nil
	s.PodGroups = []PodGroup{g.uid("")}
	require.Equal(t, []Code{ReasonPodGroupInvalid}, codes(groupKey("g"), grouped, s))
	s.PodGroups = []PodGroup{g, g}
	require.Equal(t, []Code{ReasonDuplicate}, codes(groupKey("g"), grouped, s))
	_, err := NewIndex(s, grouped).Explain(groupKey("g"))
	require.EqualError(t, err, "PodGroup ml/g: several objects in the snapshot have this name")
	_, err = NewIndex(s, grouped).Explain(groupKey("none"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
}

// Messages say whose claim it is, and who holds it.
func TestExplainedPodGroupsInWords(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "gpu"), groupWants("nic", "nic"), groupWants("fpga", "fpga")).got("nic", "asked")
	g.ResourceClaimStatuses = append(g.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: "fpga"})
	free, held := newClaim("free", ofGroup("g", "uid-g", "gpu"), allocated), newClaim("held", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g"))
	up := Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37}
	broken := newGroup("g", corev1.PodResourceClaim{Name: "x"}, groupWants("gpu", "gpu"))
	five := Snapshot{PodGroups: []PodGroup{newGroup("g", groupUses("a", "s"), groupUses("b", "s"), groupUses("c", "s"), groupUses("d", "s"), groupUses("e", "s"))}}
	waits := func(i string) string {
		return "spec.resourceClaims[" + i + "]: waits for claim ml/s, which you must create"
	}
	pod := func(claim string) []*corev1.Pod {
		return pods(newPod("p", inGroup("g"), onNode, has("gpu", "gpu", claim)))
	}
	lost := pods(newPod("lost", inGroup("h"), wants("gpu", "gpu")))
	for _, tc := range []struct {
		name string
		s    Snapshot
		key  purekube.Key
		o    Options
		want []string
	}{
		{"a group's entries", Snapshot{PodGroups: []PodGroup{g}, Claims: claims(free)}, groupKey("g"), grouped, []string{
			"spec.resourceClaims[0]: claim ml/free was created for the entry; its name is written to the PodGroup's status",
			"spec.resourceClaims[1]: claim ml/asked, which the PodGroup's status names, must be looked up at the API server first",
			"spec.resourceClaims[2]: the PodGroup's status says that no claim is needed"}},
		{"reserved for the group", Snapshot{PodGroups: []PodGroup{g}, Pods: pod("held"), Claims: claims(held)}, podKey("p"), grouped, []string{
			"spec.resourceClaims[0]: claim ml/held is reserved for PodGroup ml/g, the PodGroup of the pod"}},
		{"to be reserved for the group", Snapshot{PodGroups: []PodGroup{g}, Pods: pod("free"), Claims: claims(free)}, podKey("p"), grouped, []string{
			"spec.resourceClaims[0]: claim ml/free is allocated and will be reserved for PodGroup ml/g"}},
		{"the default can tell", Snapshot{PodGroups: []PodGroup{broken}, Pods: pod("free"), Claims: claims(free)}, podKey("p"), grouped, []string{
			"spec.resourceClaims[0]: claim ml/free is allocated and will be reserved for PodGroup ml/g"}},
		{"an entry too many", five, groupKey("g"), grouped, []string{waits("0"), waits("1"), waits("2"), waits("3"), "spec.resourceClaims[4]: PodGroup ml/g: spec.resourceClaims: more than 4 entries"}},
		{"upstream does not count", five, groupKey("g"), up, []string{waits("0"), waits("1"), waits("2"), waits("3"), waits("4")}},
		{"upstream cannot tell", Snapshot{PodGroups: []PodGroup{broken}, Pods: pod("free"), Claims: claims(free)}, podKey("p"), up, []string{
			"spec.resourceClaims[0]: PodGroup ml/g: spec.resourceClaims[0]: none of the supported fields are set"}},
		{"D-27 reserved for a group while PodGroups are off", Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "s"))), Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))}, podKey("p"), Options{}, []string{
			"spec.resourceClaims[0]: Pod ml/p: spec.resourceClaims[0]: the claim belongs to a PodGroup, and Options.PodGroupOf is nil"}},
		{"D-27 upstream", Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "s"))), Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))}, podKey("p"), Options{MatchUpstream: purekube.V1_37}, []string{
			"spec.resourceClaims[0]: claim ml/s is allocated and will be reserved for the pod"}},
		{"D-32 nobody has the group", Snapshot{Pods: lost, Answers: askedGroups("h")}, podKey("lost"), grouped, []string{
			"spec.schedulingGroup: PodGroup ml/h does not exist, so it is unknown which entries belong to it: no claim is created for the pod",
			"spec.resourceClaims[0]: Pod ml/lost: spec.resourceClaims[0]: PodGroup not found"}},
		{"D-32 upstream", Snapshot{Pods: lost}, podKey("lost"), up, []string{
			"spec.schedulingGroup: PodGroup ml/h does not exist: nothing is created or reserved for the pod"}},
		{"two groups of the name", Snapshot{Pods: lost, PodGroups: []PodGroup{newGroup("h"), newGroup("h")}}, podKey("lost"), grouped, []string{
			"spec.schedulingGroup: PodGroup ml/h: several objects in the snapshot have this name, so it is unknown which entries belong to it: no claim is created for the pod",
			"spec.resourceClaims[0]: Pod ml/lost: spec.resourceClaims[0]: PodGroup ml/h: several objects in the snapshot have this name"}},
		{"the group without a UID, upstream", Snapshot{Pods: lost, PodGroups: []PodGroup{newGroup("h").uid("")}}, podKey("lost"), up, []string{
			"spec.schedulingGroup: PodGroup ml/h: metadata.uid: no UID: nothing is created or reserved for the pod"}},
		{"D-32 the group is not in the cache", Snapshot{Pods: lost}, podKey("lost"), grouped, []string{
			"spec.schedulingGroup: PodGroup ml/h must be looked up at the API server first"}},
		{"D-37 the group was seen to be deleted", Snapshot{PodGroups: []PodGroup{g}, Deleted: deletedUIDs("uid-g")}, groupKey("g"), grouped, []string{
			"metadata.uid: PodGroup ml/g was seen to be deleted: it must be looked up at the API server first"}},
		{"held by a group that is gone", Snapshot{Claims: claims(held), Answers: askedGroups("g")}, claimKey("held"), grouped, []string{
			"status.reservedFor[0]: reserved for PodGroup ml/g: there is no PodGroup of that name, so it no longer needs the claim", "status.allocation: cleared: no consumer is left",
			"metadata.finalizers: removed: the claim is no longer allocated"}},
		{"held by a group while PodGroups are off", Snapshot{Claims: claims(held)}, claimKey("held"), Options{}, []string{
			"status.reservedFor[0]: reserved for podgroups.scheduling.k8s.io ml/g: it is not a pod, so the reservation is kept", "status.allocation: kept: the claim has consumers"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, _ := NewIndex(tc.s, tc.o).Explain(tc.key)
			var got []string
			for _, r := range e.Reasons {
				got = append(got, r.Field+": "+r.Message)
			}
			require.Equal(t, tc.want, got)
		})
	}
}
