package resourceclaim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// planCase is a snapshot, a key, and what both modes say to it.
type planCase struct {
	name, reason string
	s            Snapshot
	key          purekube.Key
	want         []string
	upstream     []string // nil: the same as want; none: nothing
	events       []string
	needs        []string
	err          error
	options      Options
	onlyDefault  bool
	onlyUpstream bool
}

// none is an expectation of no action at all where nil would mean "the same".
var none = []string{}

func runPlanCases(t *testing.T, cases []planCase) {
	t.Helper()
	for _, tc := range cases {
		for _, mode := range modes {
			if tc.onlyDefault && mode.options.matchUpstream() || tc.onlyUpstream && !mode.options.matchUpstream() {
				continue
			}
			t.Run(tc.name+"/"+mode.name, func(t *testing.T) {
				o := tc.options
				o.MatchUpstream = mode.options.MatchUpstream
				want := tc.want
				if o.matchUpstream() && tc.upstream != nil {
					want = tc.upstream
				}
				r, err := Plan(tc.s, tc.key, o)
				if len(want) == 0 {
					require.Empty(t, lines(r.Actions), tc.reason)
				} else {
					require.Equal(t, want, lines(r.Actions), tc.reason)
				}
				outcomes, _ := PlanAll(tc.s, o)
				listed := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Key == tc.key })
				require.Equal(t, !r.Empty() || tc.err != nil, listed, "PlanAll has the plans that are not empty")
				var events, needs []string
				for _, e := range r.Events {
					events = append(events, e.Message)
				}
				for _, n := range r.Needs {
					needs = append(needs, n.Kind+" "+n.Namespace+"/"+n.Name)
				}
				require.Equal(t, tc.events, events, tc.reason)
				require.Equal(t, tc.needs, needs, tc.reason)
				if tc.err == nil {
					require.NoError(t, err, tc.reason)
				} else {
					require.ErrorIs(t, err, tc.err, tc.reason)
				}
			})
		}
	}
}

func TestPodPass(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	runPlanCases(t, []planCase{
		{
			name: "BR-30-01 created from the template", reason: "the status does not name a claim and there is none",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "two entries of one template", reason: "each entry has a claim of its own",
			s:   Snapshot{Pods: pods(newPod("p", wants("b", "gpu"), wants("a", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p b: p-b-*", "CreateClaim ml/p a: p-a-*", "SetClaimStatuses ml/p: a pending, b pending"},
		}, {
			name: "no node, claim there", reason: "the scheduler reserves",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Claims: claims(newClaim("c", madeFor("p", "gpu"), allocated)), Templates: gpu},
			key: podKey("p"),
		}, {
			name: "reserved on a node", reason: "bound without the scheduler",
			s:   Snapshot{Pods: pods(newPod("p", onNode, has("gpu", "gpu", "c"))), Claims: claims(newClaim("c", madeFor("p", "gpu"), allocated))},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "reserved beside others", reason: "a named claim is shared",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"))), Claims: claims(newClaim("c", allocated, reservedFor("q")))},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "both fields", reason: "the API does not allow it; the name counts, and the template makes nothing",
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"), func(p *corev1.Pod) { p.Spec.ResourceClaims[0].ResourceClaimTemplateName = ptr.To("gpu") })),
				Claims: claims(newClaim("c", allocated)), Templates: gpu},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "not allocated", reason: "there is nothing to reserve",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"))), Claims: claims(newClaim("c"))},
			key: podKey("p"),
		}, {
			name: "reserved already", reason: "the UID counts, not the name",
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"))),
				Claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "old-name", UID: "uid-p"})))},
			key: podKey("p"),
		}, {
			name: "reserved for the predecessor", reason: "another UID is another pod",
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"))),
				Claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "old"})))},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "pod being deleted", reason: "it gets nothing",
			s:   Snapshot{Pods: pods(newPod("p", podDeleting, onNode, wants("gpu", "gpu"), uses("x", "c"))), Claims: claims(newClaim("c", allocated)), Templates: gpu},
			key: podKey("p"),
		}, {
			name: "pod not there", reason: "the object is gone",
			s: Snapshot{Templates: gpu}, key: podKey("p"),
		}, {
			name: "not needed", reason: "a status without a name says so",
			s:   Snapshot{Pods: pods(newPod("p", onNode, wants("gpu", "gpu"), notNeeded("gpu"))), Templates: gpu},
			key: podKey("p"),
		}, {
			name: "not needed before one to reserve", reason: "an entry that is not needed ends nothing",
			s:   Snapshot{Pods: pods(newPod("p", onNode, wants("a", "gpu"), notNeeded("a"), uses("b", "c"))), Claims: claims(newClaim("c", allocated)), Templates: gpu},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "named claim missing", reason: "its user has to create it",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c")))},
			key: podKey("p"),
		}, {
			name: "named claim of another pod", reason: "the owner matters for template entries only",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("gpu", "c"))), Claims: claims(newClaim("c", madeFor("q", "gpu"), allocated))},
			key: podKey("p"), want: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "BR-30-01 generated claim is gone", reason: "it is made again",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Templates: gpu, Answers: askedClaims("c")},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "BR-30-02 named claim is not controlled by the pod", reason: "a new one is made",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Claims: claims(newClaim("c", madeFor("q", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "BR-30-02 owner reference without controller", reason: "only the controller is the owner that counts",
			s: Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Claims: claims(newClaim("c", madeFor("p", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences[0].Controller = nil
			})), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}, onlyUpstream: true,
		}, {
			name: "adopted", reason: "created, but the status could not be written",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"SetClaimStatuses ml/p: gpu=c"},
		}, {
			name: "adopted without template", reason: "the template is not needed any more",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c", madeFor("p", "gpu")))},
			key: podKey("p"), want: []string{"SetClaimStatuses ml/p: gpu=c"},
		}, {
			name: "adopted in place of another pod's", reason: "the status names a claim that is not the pod's",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "x"))), Claims: claims(newClaim("x", madeFor("q", "gpu")), newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"SetClaimStatuses ml/p: gpu=c"},
		}, {
			name: "claim for another entry", reason: "the annotation ties a claim to its entry",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c", madeFor("p", "nic"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "claim without annotation", reason: "the scheduler's claims for extended resources are owned by the pod too",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c", ownedBy("p", "uid-p"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "claim of the predecessor", reason: "the UID counts",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"), podUID("new"))), Claims: claims(newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "two claims to adopt", reason: "the one that stays, and of those the first by name",
			s: Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c3", madeFor("p", "gpu")),
				newClaim("c2", madeFor("p", "gpu")), newClaim("c1", madeFor("p", "gpu"), claimDeleting)), Templates: gpu},
			key: podKey("p"), want: []string{"SetClaimStatuses ml/p: gpu=c2"},
		}, {
			name: "BR-30-04 assumed claim is adopted", reason: "written a moment ago, not in the cache yet",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Assumed: claims(newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"SetClaimStatuses ml/p: gpu=c"},
		}, {
			name: "BR-30-04 assumed claim is named", reason: "by default it counts like any other; upstream writes the status again",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Assumed: claims(newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), want: none, upstream: []string{"SetClaimStatuses ml/p: gpu=c"},
		}, {
			name: "no template", reason: "an event and an error",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "no-such")))},
			key: podKey("p"), err: errTemplateNotFound,
			events: []string{`PodResourceClaim gpu: resource claim template "no-such": resourceclaimtemplate.resource.k8s.io "no-such" not found`},
		}, {
			name: "neither claim nor template", reason: "from a newer API",
			s:   Snapshot{Pods: pods(newPod("p", unsupported("gpu")))},
			key: podKey("p"), err: errUnsupported,
			events: []string{`PodResourceClaim gpu: checking for claim before creating it: pod "ml/p", spec.resourceClaim "gpu": none of the supported fields are set`},
		}, {
			name: "admin access allowed", reason: "the zero Options allow it",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu", adminAccess))},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "admin access denied", reason: "as where the feature is off", options: Options{DenyAdminAccess: true},
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu", adminAccess))},
			key: podKey("p"), err: errAdminAccess,
			events: []string{"PodResourceClaim gpu: admin access is requested, but the feature is disabled"},
		}, {
			name: "prioritized list denied", reason: "as where the feature is off", options: Options{DenyPrioritizedList: true},
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu", prioritizedList))},
			key: podKey("p"), err: errPrioritizedList,
			events: []string{"PodResourceClaim gpu: template includes a prioritized list of subrequests, but the feature is disabled"},
		}, {
			name: "admin access denied, none requested", reason: "false is no request", options: Options{DenyAdminAccess: true},
			s: Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu", adminAccess, func(t *resourcev1.ResourceClaimTemplate) {
				*t.Spec.Spec.Devices.Requests[0].Exactly.AdminAccess = false
			}))},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "admin access denied, prioritized list", reason: "its alternatives cannot ask for it", options: Options{DenyAdminAccess: true},
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu", prioritizedList))},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "features off, plain template", reason: "nothing in it needs them", options: Options{DenyPrioritizedList: true, DenyAdminAccess: true},
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: gpu},
			key: podKey("p"), want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "D-7 done pod, claim gone", reason: "a new claim would have to be deleted at once",
			s:   Snapshot{Pods: pods(newPod("p", onNode, phase(corev1.PodSucceeded), has("gpu", "gpu", "c"))), Templates: gpu},
			key: podKey("p"), want: none, upstream: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		}, {
			name: "D-7 done pod, claim not reserved", reason: "the claim pass would take the reservation back, and so on for ever",
			s:   Snapshot{Pods: pods(newPod("p", onNode, phase(corev1.PodFailed), uses("gpu", "c"))), Claims: claims(newClaim("c", allocated))},
			key: podKey("p"), want: none, upstream: []string{"Reserve ml/c: for pod ml/p"},
		}, {
			name: "D-8 failed entry before another", reason: "the rest gets what is its own; upstream stops at the first",
			s: Snapshot{Pods: pods(newPod("p", onNode, wants("a", "gpu"), wants("b", "no-such"), wants("c", "gpu"), uses("d", "shared"))),
				Claims: claims(newClaim("shared", allocated)), Templates: gpu},
			key: podKey("p"), err: errTemplateNotFound,
			want:     []string{"CreateClaim ml/p a: p-a-*", "CreateClaim ml/p c: p-c-*", "SetClaimStatuses ml/p: a pending, c pending", "Reserve ml/shared: for pod ml/p"},
			upstream: []string{"CreateClaim ml/p a: p-a-*"},
			events:   []string{`PodResourceClaim b: resource claim template "no-such": resourceclaimtemplate.resource.k8s.io "no-such" not found`},
		}, {
			name: "D-8 created entry before one to reserve", reason: "upstream's reserving ends at an entry whose claim the status does not name",
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c1"), wants("b", "gpu"), uses("c", "c2"))),
				Claims: claims(newClaim("c1", allocated), newClaim("c2", allocated)), Templates: gpu},
			key:      podKey("p"),
			want:     []string{"CreateClaim ml/p b: p-b-*", "SetClaimStatuses ml/p: b pending", "Reserve ml/c1: for pod ml/p", "Reserve ml/c2: for pod ml/p"},
			upstream: []string{"CreateClaim ml/p b: p-b-*", "SetClaimStatuses ml/p: b pending", "Reserve ml/c1: for pod ml/p"},
		}, {
			name: "D-8 adopted entry before one to reserve", reason: "an adopted claim is not in the status either",
			s: Snapshot{Pods: pods(newPod("p", onNode, wants("a", "gpu"), uses("b", "c2"))),
				Claims: claims(newClaim("c1", madeFor("p", "a"), allocated), newClaim("c2", allocated))},
			key:      podKey("p"),
			want:     []string{"SetClaimStatuses ml/p: a=c1", "Reserve ml/c2: for pod ml/p"},
			upstream: []string{"SetClaimStatuses ml/p: a=c1"},
		}, {
			name: "D-8 missing claim before one to reserve", reason: "upstream's reserving ends at a claim that is not there",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c1"), uses("b", "c2"))), Claims: claims(newClaim("c2", allocated))},
			key: podKey("p"), want: []string{"Reserve ml/c2: for pod ml/p"}, upstream: none,
		}, {
			name: "D-8 another's claim before one to reserve", reason: "upstream's reserving ends at a claim that is not the pod's",
			s: Snapshot{Pods: pods(newPod("p", onNode, has("a", "gpu", "x"), uses("b", "c2"))),
				Claims: claims(newClaim("x", madeFor("q", "a"), allocated), newClaim("c2", allocated)), Templates: gpu},
			key:      podKey("p"),
			want:     []string{"CreateClaim ml/p a: p-a-*", "SetClaimStatuses ml/p: a pending", "Reserve ml/c2: for pod ml/p"},
			upstream: []string{"CreateClaim ml/p a: p-a-*", "SetClaimStatuses ml/p: a pending"},
		}, {
			name: "D-8 claim being deleted", reason: "the API server takes no new consumer for it", onlyDefault: true,
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c1"), uses("b", "c2"))),
				Claims: claims(newClaim("c1", allocated, claimDeleting), newClaim("c2", allocated))},
			key: podKey("p"), err: errClaimDeleting, want: []string{"Reserve ml/c2: for pod ml/p"},
		}, {
			name: "D-8 claim being deleted, reserved already", reason: "nothing to add, nothing to report",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c1"))), Claims: claims(newClaim("c1", allocated, claimDeleting, reservedFor("p")))},
			key: podKey("p"),
		}, {
			name: "D-8 256 reservations", reason: "the API allows no more", onlyDefault: true,
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c1"), uses("b", "c2"))),
				Claims: claims(newClaim("c1", allocated, reservedFor(manyPods(256)...)), newClaim("c2", allocated, reservedFor(manyPods(255)...)))},
			key: podKey("p"), err: errReservedForMax, want: []string{"Reserve ml/c2: for pod ml/p"},
		}, {
			name: "D-16 one claim, two entries", reason: "it is reserved for the pod, not for the entry",
			s:        Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c"), uses("b", "c"))), Claims: claims(newClaim("c", allocated))},
			key:      podKey("p"),
			want:     []string{"Reserve ml/c: for pod ml/p"},
			upstream: []string{"Reserve ml/c: for pod ml/p", "Reserve ml/c: for pod ml/p"},
		}, {
			name: "D-16 one claim, two entries, another between them", reason: "each claim that was reserved is remembered",
			s: Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c"), uses("b", "d"), uses("e", "c"))),
				Claims: claims(newClaim("c", allocated), newClaim("d", allocated))},
			key:      podKey("p"),
			want:     []string{"Reserve ml/c: for pod ml/p", "Reserve ml/d: for pod ml/p"},
			upstream: []string{"Reserve ml/c: for pod ml/p", "Reserve ml/d: for pod ml/p", "Reserve ml/c: for pod ml/p"},
		},
	})
}

func TestPodPassBadInput(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	runPlanCases(t, []planCase{
		{
			name: "two pods of one name", reason: "which one is real cannot be known",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu")), newPod("p", podUID("x"))), Templates: gpu},
			key: podKey("p"), err: purekube.ErrDuplicate,
		}, {
			name: "pod without UID", reason: "a claim would have no owner",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"), podUID(""))), Templates: gpu},
			key: podKey("p"), err: errNoUID,
		}, {
			name: "pod without entries", reason: "nothing else about it matters",
			s:   Snapshot{Pods: pods(newPod("p", podUID("")))},
			key: podKey("p"),
		}, {
			name: "pod without UID, none is said to be deleted", reason: "no UID tells nothing about a pod",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"), podUID(""))), Templates: gpu, Deleted: deletedUIDs("")},
			key: podKey("p"), err: errNoUID,
		}, {
			name: "two claims of the named one's name", reason: "nothing is reserved on a guess, the next entry is",
			s:   Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c"), uses("b", "d"))), Claims: claims(newClaim("c", allocated), newClaim("c", allocated, reservedFor("p")), newClaim("d", allocated))},
			key: podKey("p"), err: purekube.ErrDuplicate, want: []string{"Reserve ml/d: for pod ml/p"}, upstream: none,
		}, {
			name: "two claims of the generated one's name", reason: "no second one is made",
			s:   Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Claims: claims(newClaim("c"), newClaim("c", madeFor("q", "gpu"))), Templates: gpu},
			key: podKey("p"), err: purekube.ErrDuplicate,
		}, {
			name: "two claims of the name of one to adopt", reason: "one of them may be the pod's",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c"), newClaim("c", madeFor("p", "gpu"))), Templates: gpu},
			key: podKey("p"), err: purekube.ErrDuplicate,
		}, {
			name: "two templates of one name", reason: "what to create cannot be known",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu"), newTemplate("gpu", adminAccess))},
			key: podKey("p"), err: purekube.ErrDuplicate,
		}, {
			name: "two entries of one name", reason: "the API does not allow it; the first counts",
			s:   Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"), wants("gpu", "gpu"))), Templates: gpu},
			key: podKey("p"), err: errDuplicateEntry, want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
			upstream: []string{"CreateClaim ml/p gpu: p-gpu-*"},
		}, {
			name: "nil entries", reason: "they are reported and ignored",
			s:   Snapshot{Pods: pods(nil, newPod("p", wants("gpu", "gpu"))), Claims: claims(nil), Assumed: claims(nil), Templates: templates(newTemplate("gpu"), nil)},
			key: podKey("p"), err: purekube.ErrNil, want: []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"},
		},
	})
}

// Of several names that two claims have, each of which may be the pod's, the error has the first, whatever their order.
func TestFirstAmbiguousNameIsNamed(t *testing.T) {
	var all []*resourcev1.ResourceClaim
	for _, name := range []string{"c2", "c1", "c3", "c3", "c1", "c2"} {
		all = append(all, newClaim(name, madeFor("p", "gpu")))
	}
	s := Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu"))}
	for i := range all {
		s.Claims = append(all[i:len(all):len(all)], all[:i]...)
		_, err := Plan(s, podKey("p"), Options{})
		require.EqualError(t, err, "ResourceClaim ml/c1: several objects in the snapshot have this name")
		_, err = NewIndex(s, Options{}).Plan(podKey("p"))
		require.EqualError(t, err, "ResourceClaim ml/c1: several objects in the snapshot have this name")
	}
}

func manyPods(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("other-%d", i))
	}
	return out
}

func TestClaimPass(t *testing.T) {
	running := newPod("run", onNode, phase(corev1.PodRunning))
	over := newPod("over", onNode, phase(corev1.PodSucceeded))
	runPlanCases(t, []planCase{
		{
			name: "in use", reason: "its consumer runs",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", allocated, reservedFor("run")))}, key: claimKey("c"),
		}, {
			name: "BR-30-05 one of two is done", reason: "the other one keeps the allocation",
			s:   Snapshot{Pods: pods(running, over), Claims: claims(newClaim("c", allocated, reservedFor("over", "run")))},
			key: claimKey("c"), want: []string{"Release ml/c: over"},
		}, {
			name: "BR-30-07 the last one is done", reason: "the device is for somebody else now",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", allocated, reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over, deallocate", "RemoveFinalizer ml/c"},
		}, {
			name: "BR-30-07 without the finalizer", reason: "it was allocated by somebody else",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", unprotectedAllocation, reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over"},
		}, {
			name: "BR-30-07 reserved without allocation", reason: "there is nothing to deallocate; the finalizer protects nothing",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", protected, reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over", "RemoveFinalizer ml/c"},
		}, {
			name: "BR-30-07 reserved without allocation or finalizer", reason: "there is no finalizer to remove",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over"},
		}, {
			name: "BR-30-07 unused for long", reason: "only the step from used to unused deallocates",
			s: Snapshot{Claims: claims(newClaim("c", allocated))}, key: claimKey("c"),
		}, {
			name: "unused and deleting, allocated", reason: "deallocate, then unblock the deletion",
			s:   Snapshot{Claims: claims(newClaim("c", allocated, claimDeleting))},
			key: claimKey("c"), want: []string{"Release ml/c: deallocate", "RemoveFinalizer ml/c"},
		}, {
			name: "unused and deleting, not allocated", reason: "only the finalizer is in the way",
			s:   Snapshot{Claims: claims(newClaim("c", protected, claimDeleting))},
			key: claimKey("c"), want: []string{"RemoveFinalizer ml/c"},
		}, {
			name: "deleting without finalizer", reason: "somebody else's finalizer holds it",
			s: Snapshot{Claims: claims(newClaim("c", unprotectedAllocation, claimDeleting))}, key: claimKey("c"),
		}, {
			name: "deleting and in use", reason: "its consumer runs",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", allocated, claimDeleting, reservedFor("run")))}, key: claimKey("c"),
		}, {
			name: "deleting, reserved without allocation", reason: "its consumer runs, and the finalizer waits for it",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", protected, claimDeleting, reservedFor("run")))}, key: claimKey("c"),
		}, {
			name: "deleting without finalizer, not allocated", reason: "there is no finalizer to remove",
			s: Snapshot{Claims: claims(newClaim("c", claimDeleting))}, key: claimKey("c"),
		}, {
			name: "finalizer, not deleting, unused", reason: "it protects nothing, but nothing changes either",
			s: Snapshot{Claims: claims(newClaim("c", protected))}, key: claimKey("c"),
		}, {
			name: "BR-30-08 generated for a done pod", reason: "release, finalizer, delete, in this order",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), allocated, reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over, deallocate", "RemoveFinalizer ml/c", "DeleteClaim ml/c"},
		}, {
			name: "BR-30-08 generated for a done pod, never allocated", reason: "nothing to release",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu")))},
			key: claimKey("c"), want: []string{"DeleteClaim ml/c"},
		}, {
			name: "BR-30-08 generated, allocated, never reserved, pod done", reason: "the finalizer goes once it is being deleted",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), allocated))},
			key: claimKey("c"), want: []string{"DeleteClaim ml/c"},
		}, {
			name: "BR-30-08 owner deleted before it got a node", reason: "it will not run",
			s:   Snapshot{Pods: pods(newPod("p", podDeleting)), Claims: claims(newClaim("c", madeFor("p", "gpu")))},
			key: claimKey("c"), want: []string{"DeleteClaim ml/c"},
		}, {
			name: "owner runs", reason: "it needs its claim, reserved or not",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", madeFor("run", "gpu"), allocated))}, key: claimKey("c"),
		}, {
			name: "owner done, another pod holds the claim", reason: "it is in use",
			s: Snapshot{Pods: pods(running, over), Claims: claims(newClaim("c", madeFor("over", "gpu"), allocated, reservedFor("run")))}, key: claimKey("c"),
		}, {
			name: "owner not in the cache", reason: "the garbage collector knows",
			s:   Snapshot{Claims: claims(newClaim("c", madeFor("p", "gpu"))), Deleted: deletedUIDs("uid-p"), Answers: asked("p")},
			key: claimKey("c"),
		}, {
			name: "owner not the controller", reason: "it was not generated",
			s: Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences[0].Controller = ptr.To(false)
			}))}, key: claimKey("c"),
		}, {
			name: "owner of another kind", reason: "a job is not a pod",
			s: Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences[0].Kind, c.OwnerReferences[0].APIVersion = "Job", "batch/v1"
			}))}, key: claimKey("c"),
		}, {
			name: "owner of another kind of the core group", reason: "a replication controller is not a pod",
			s: Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences[0].Kind = "ReplicationController"
			}))}, key: claimKey("c"),
		}, {
			name: "owner of the kind of another group", reason: "only the core group's pods are pods",
			s: Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences[0].APIVersion = "example.com/v1"
			}))}, key: claimKey("c"),
		}, {
			name: "owner is known to be deleted and cached", reason: "it does not count, and the garbage collector knows; upstream's cache says that it runs",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", madeFor("run", "gpu"))), Deleted: deletedUIDs("uid-run")}, key: claimKey("c"),
		}, {
			name: "owner without UID", reason: "whatever has its name may be the owner",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", ownedBy("over", ""), annotated("gpu")))},
			key: claimKey("c"), err: errNoUID,
		}, {
			name: "owner's name is that of a pod without UID", reason: "it may be the owner",
			s:   Snapshot{Pods: pods(newPod("over", podUID(""), phase(corev1.PodFailed))), Claims: claims(newClaim("c", madeFor("over", "gpu")))},
			key: claimKey("c"), err: errNoUID,
		}, {
			name: "D-17 being deleted already", reason: "one request is enough",
			s:        Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), protected, claimDeleting))},
			key:      claimKey("c"),
			want:     []string{"RemoveFinalizer ml/c"},
			upstream: []string{"RemoveFinalizer ml/c", "DeleteClaim ml/c"},
		}, {
			name: "D-17 being deleted, held by another finalizer", reason: "upstream deletes it on every pass",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", madeFor("over", "gpu"), claimDeleting))},
			key: claimKey("c"), want: none, upstream: []string{"DeleteClaim ml/c"},
		}, {
			name: "BR-30-08 owner replaced", reason: "another pod has its name, and the API server says so too",
			s:   Snapshot{Pods: pods(newPod("p", podUID("x"))), Claims: claims(newClaim("c", madeFor("p", "gpu"))), Answers: asked(newPod("p", podUID("x")))},
			key: claimKey("c"), want: []string{"DeleteClaim ml/c"},
		}, {
			name: "owner replaced by a pod that is done", reason: "whatever the other one does",
			s: Snapshot{Pods: pods(newPod("p", podUID("x"), phase(corev1.PodFailed))), Claims: claims(newClaim("c", madeFor("p", "gpu"))),
				Answers: asked(newPod("p", podUID("x")))},
			key: claimKey("c"), want: []string{"DeleteClaim ml/c"},
		}, {
			name: "needs hold everything back", reason: "one consumer is done, of another nothing is known",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", allocated, reservedFor("over", "z", "a", "z")))},
			key: claimKey("c"), needs: []string{"Pod ml/a", "Pod ml/z"},
		}, {
			name: "one need holds everything back", reason: "the answer may change what becomes of the allocation",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", allocated, reservedFor("over", "z")))},
			key: claimKey("c"), needs: []string{"Pod ml/z"},
		}, {
			name: "pod that is done, PodGroups on", reason: "a pod is judged as a pod all the same", options: Options{PodGroupOf: groupOfLabel},
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", allocated, reservedFor("over")))},
			key: claimKey("c"), want: []string{"Release ml/c: over, deallocate", "RemoveFinalizer ml/c"},
		}, {
			name: "D-21 owner's name is that of a pod which is done", reason: "it may be the predecessor of one that runs", onlyDefault: true,
			s:   Snapshot{Pods: pods(newPod("p", podUID("x"), phase(corev1.PodFailed))), Claims: claims(newClaim("c", madeFor("p", "gpu")))},
			key: claimKey("c"), needs: []string{"Pod ml/p"},
		}, {
			name: "256 reservations, all done but one", reason: "each is judged on its own",
			s: Snapshot{Pods: pods(running), Claims: claims(newClaim("c", allocated, reservedFor(manyPods(255)...), reservedFor("run"))),
				Deleted: uidsOf(manyPods(255)...), Answers: noneFound(manyPods(255)...)},
			key: claimKey("c"), want: []string{"Release ml/c: " + strings.Join(manyPods(255), ", ")},
		}, {
			name: "claim not there", reason: "the object is gone",
			s: Snapshot{Pods: pods(over)}, key: claimKey("c"),
		}, {
			name: "two claims of one name", reason: "which one is real cannot be known",
			s:   Snapshot{Pods: pods(over), Claims: claims(newClaim("c", allocated, reservedFor("over")), newClaim("c"))},
			key: claimKey("c"), err: purekube.ErrDuplicate,
		}, {
			name: "owner's name is two pods'", reason: "one of them may be the live owner",
			s:   Snapshot{Pods: pods(over, newPod("over", podUID("x"))), Claims: claims(newClaim("c", madeFor("over", "gpu")))},
			key: claimKey("c"), err: purekube.ErrDuplicate,
		},
	})
}

func TestPlanAllProblems(t *testing.T) {
	out, whole := PlanAll(Snapshot{
		Pods:      pods(nil, newPod("dup", unsupported("gpu")), newPod("dup", unsupported("gpu")), newPod("p", wants("gpu", "used"))),
		Claims:    claims(newClaim("dup"), nil, newClaim("dup")),
		Templates: templates(newTemplate("used"), newTemplate("used"), newTemplate("unused"), newTemplate("unused"), nil),
	}, Options{})
	var got []string
	for _, o := range out {
		require.True(t, o.Result.Empty())
		got = append(got, o.Key.String()+" "+o.Err.Error())
	}
	require.EqualError(t, whole, "Pod: nil object in the snapshot\nResourceClaim: nil object in the snapshot\nResourceClaimTemplate: nil object in the snapshot\n"+
		"ResourceClaimTemplate ml/unused: several objects in the snapshot have this name\n"+
		"ResourceClaimTemplate ml/used: several objects in the snapshot have this name")
	require.Equal(t, []string{
		"Pod/ml/dup Pod ml/dup: several objects in the snapshot have this name",
		"Pod/ml/p ResourceClaimTemplate ml/used: several objects in the snapshot have this name",
		"ResourceClaim/ml/dup ResourceClaim ml/dup: several objects in the snapshot have this name",
	}, got)
}

// A plan says what is wrong with any slice of the snapshot.
func TestPlanNamesUnusableObjects(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		s          Snapshot
	}{
		{"nil pod", "Pod: nil object in the snapshot", Snapshot{Pods: pods(nil)}},
		{"nil claim", "ResourceClaim: nil object in the snapshot", Snapshot{Claims: claims(nil)}},
		{"nil assumed claim", "ResourceClaim: nil object in the snapshot", Snapshot{Assumed: claims(nil)}},
		{"nil template", "ResourceClaimTemplate: nil object in the snapshot", Snapshot{Templates: templates(nil)}},
		{"nameless pod", "Pod: metadata.name: required", Snapshot{Pods: pods(newPod(""))}},
		{"nameless claim", "ResourceClaim: metadata.name: required", Snapshot{Claims: claims(newClaim(""))}},
		{"nameless assumed claim", "ResourceClaim: metadata.name: required", Snapshot{Assumed: claims(newClaim(""))}},
		{"nameless template", "ResourceClaimTemplate: metadata.name: required", Snapshot{Templates: templates(newTemplate(""))}},
		{"nil before another", "Pod: nil object in the snapshot", Snapshot{Pods: pods(nil, newPod("p"))}},
		{"nameless before another", "Pod: metadata.name: required", Snapshot{Pods: pods(newPod(""), newPod("p"))}},
		{"nil and nameless", "Pod: nil object in the snapshot\nPod: metadata.name: required", Snapshot{Pods: pods(nil, newPod(""), nil)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Plan(tc.s, podKey("p"), Options{})
			require.EqualError(t, err, tc.want)
			require.True(t, r.Empty())
			_, err = NewIndex(tc.s, Options{}).Plan(podKey("p"))
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestSnapshotIsEmpty(t *testing.T) {
	for _, key := range []purekube.Key{{}, podKey("p"), claimKey("c"), {Kind: "job", Namespace: ns, Name: "x"}} {
		r, err := Plan(Snapshot{}, key, Options{})
		require.NoError(t, err)
		require.True(t, r.Empty())
	}
	out, err := PlanAll(Snapshot{}, Options{})
	require.NoError(t, err)
	require.Empty(t, out)
}

// upstreamPatch is a recording of what client-go's apply configurations marshal.
const upstreamPatch = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml"},"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"c"}]}}`

func TestPatchIsUpstreams(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(newClaim("c", madeFor("p", "gpu")))}
	r, err := Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	request := r.Actions[0].Request(nil)
	body := request.Patch
	require.Equal(t, "application/apply-patch+yaml", string(request.PatchType))
	require.Equal(t, upstreamPatch, string(body))

	r, err = Plan(s, podKey("p"), Options{})
	require.NoError(t, err)
	body = r.Actions[0].Request(nil).Patch
	var got corev1.Pod
	require.NoError(t, json.Unmarshal(body, &got))
	require.Equal(t, "uid-p", string(got.UID), "a new pod of the same name is not hit")
}
