package parity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

var resourceclaimDivergences = []divergence{
	{
		ID:    "D-5",
		Title: "the names of a pod's claims flap",
		Why: "With a server-side apply, what a manager applied before and leaves out now is taken away. Upstream applies only the names of the claims " +
			"that it made in this pass, so that those it made before go from the pod's status, come back in the next pass, and so on. The default applies all of them.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("a", "t"), templated("b", "t"))
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("p-a-x4z9k")}}
			return []runtime.Object{p, claimOf("p-a-x4z9k", "p", "a"), claimOf("p-b-l92c5", "p", "b")}
		},
		Run: bothClaims,
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"p-b-l92c5"}]}}`,
		In: []purekube.Upstream{purekube.V1_36},
		Elsewhere: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"p-a-x4z9k"},{"name":"b","resourceClaimName":"p-b-l92c5"}]}}`,
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"p-a-x4z9k"},{"name":"b","resourceClaimName":"p-b-l92c5"}]}}`,
	},
	{
		ID:    "D-5",
		Title: "an entry that needs no claim",
		Why:   "A status without a name says that the entry needs no claim. v1.37 applies the names that were there again, but not such a status, so that the apply takes it away. The default applies it as well.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("a", "t"), templated("b", "t"))
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a"}}
			return []runtime.Object{p, claimOf("p-b-l92c5", "p", "b")}
		},
		Run: bothClaims,
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"p-b-l92c5"}]}}`,
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"a"},{"name":"b","resourceClaimName":"p-b-l92c5"}]}}`,
	},
	{
		ID:      "D-6",
		Title:   "a template that changes in the cache",
		Why:     "Upstream writes the annotation of the claim that it makes into the template, which it shares with everybody who reads its cache. Ours never writes to an input, in either mode.",
		Setting: "What stands below are the annotations that the template in the cache has for its claims, after a claim was made from it.",
		Given: func() []runtime.Object {
			t := claimTemplate("t")
			t.Spec.Annotations = map[string]string{"note": "mine"}
			return []runtime.Object{withEntries(claimPod("p", "uid-p"), templated("gpu", "t")), t}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			annotations := func(of []runtime.Object) string {
				var lines []string
				all := of[1].(*resourcev1.ResourceClaimTemplate).Spec.Annotations
				for _, key := range slices.Sorted(maps.Keys(all)) {
					lines = append(lines, key+": "+all[key])
				}
				return strings.Join(lines, "\n")
			}
			resourceclaim.PlanAll(claimsCaseOf(given).snapshot, resourceclaim.Options{})
			ours = annotations(given)
			Run(t, given, startClaims(claimsCaseOf(given)), func(_ *testing.T, w *World) { w.Settle() })
			return annotations(given), ours
		},
		Upstream: "note: mine\nresource.kubernetes.io/pod-claim-name: gpu",
		In:       []purekube.Upstream{purekube.V1_36}, Elsewhere: "note: mine",
		Ours: "note: mine",
	},
	{
		ID:    "D-7",
		Title: "a claim for a pod that is done",
		Why: "When the generated claim of a pod that is done has been deleted, upstream makes another one, writes its name into the pod's status, and deletes it again. " +
			"It also reserves claims for such a pod, and takes them back at once. In the default a pod that is done gets nothing.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), named("gpu", "shared"))
			p.Spec.NodeName, p.Status.Phase = "node", corev1.PodSucceeded
			q := withEntries(claimPod("q", "uid-q"), templated("gpu", "t"))
			q.Spec.NodeName, q.Status.Phase = "node", corev1.PodFailed
			q.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("q-gpu-x4z9k")}}
			return []runtime.Object{p, q, inUse(claimOf("shared", "", "")), claimTemplate("t")}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			upstream, ours = bothClaims(t, given)
			// v1.37 looks the claim up before it makes another one (D-28).
			return strings.ReplaceAll(upstream, "get resourceclaims ns/q-gpu-x4z9k\n", ""), ours
		},
		Upstream: `apply pods/status ns/q by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"q-gpu-00001"}]}}
create resourceclaims ns/: {"metadata":{"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"generateName":"q-gpu-",` +
			`"ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod","name":"q","uid":"uid-q"}]},"spec":{"devices":{"requests":[{"name":"gpu"}]}},"status":{}}
update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":{}},"reservedFor":[{"name":"p","resource":"pods","uid":"uid-p"}]}}`,
		Ours: `nothing`,
	},
	{
		ID:    "D-8",
		Title: "an entry that fails holds back the others",
		Why: "Upstream ends its pass over a pod at the first of its entries that fails, without the names of the claims that it has made by then, and its reserving at the first entry " +
			"whose claim is not there yet. In the default every entry gets what is its own, and the errors come with that.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("a", "no-such"), templated("b", "t"), named("c", "missing"), named("d", "shared"))
			p.Spec.NodeName = "node"
			return []runtime.Object{p, inUse(claimOf("shared", "", "")), claimTemplate("t")}
		},
		Run: bothClaims,
		Upstream: `event Warning FailedResourceClaimCreation on Pod ns/p
error for pod:ns/p`,
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"p-b-00001"}]}}
create resourceclaims ns/: {"metadata":{"annotations":{"resource.kubernetes.io/pod-claim-name":"b"},"generateName":"p-b-",` +
			`"ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod","name":"p","uid":"uid-p"}]},"spec":{"devices":{"requests":[{"name":"gpu"}]}},"status":{}}
update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":{}},"reservedFor":[{"name":"p","resource":"pods","uid":"uid-p"}]}}
event Warning FailedResourceClaimCreation on Pod ns/p
error for pod:ns/p`,
	},
	{
		ID:    "D-8",
		Title: "a claim that the API server refuses",
		Why: "Upstream also stops at the first claim that a quota or an admission plugin refuses: the names of those made before it are not written, those behind it are not made, and " +
			"what is there is not reserved. In the default all of that happens, and the failure is an event and another try.",
		Setting: "The API server refuses to create the claim of the entry b.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("a", "t"), templated("b", "t"), templated("c", "t"), named("d", "shared"))
			p.Spec.NodeName = "node"
			return []runtime.Object{p, inUse(claimOf("shared", "", "")), claimTemplate("t")}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			c := claimsCaseOf(given)
			refuse := func(r Request) error {
				if r.Verb == "create" && strings.Contains(r.Body, `"generateName":"p-b-"`) {
					return errQuota
				}
				return nil
			}
			return runRefused(t, c, refuse).String(), c.refused(c.options, refuse).String()
		},
		Upstream: `create resourceclaims ns/: ` + createdFor("a") + `
create resourceclaims ns/: ` + createdFor("b") + `
event Warning FailedResourceClaimCreation on Pod ns/p
error for pod:ns/p`,
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"p-a-00001"},{"name":"c","resourceClaimName":"p-c-00001"}]}}
create resourceclaims ns/: ` + createdFor("a") + `
create resourceclaims ns/: ` + createdFor("b") + `
create resourceclaims ns/: ` + createdFor("c") + `
` + reservedOnce + `
event Warning FailedResourceClaimCreation on Pod ns/p
error for pod:ns/p`,
	},
	{
		ID:    "D-9",
		Title: "a generateName that makes no valid name",
		Why: "Where the names of pod and entry are too long together, upstream shortens both in proportion. What is left may end in a dot before the dash, begin with a dash, or have nothing " +
			"of the entry: the first two are no names, so that the pod never gets its claim. The default's is always valid and has something of both; where upstream's is so, it is the same.",
		Setting: "What stands below are the generateNames.",
		Given: func() []runtime.Object {
			long := func(name, entry string) *corev1.Pod {
				return withEntries(claimPod(name, types.UID("uid-"+name)), templated(entry, "t"))
			}
			return []runtime.Object{
				claimTemplate("t"),
				long(strings.Repeat("a", 47)+"."+strings.Repeat("b", 6), strings.Repeat("e", 8)),
				long("p", strings.Repeat("e", 57)),
				long(strings.Repeat("q", 60), "e"),
			}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			generateNames := func(trace Trace) string {
				var lines []string
				for _, r := range trace.Requests {
					if r.Verb == "create" {
						_, behind, _ := strings.Cut(r.Body, `"generateName":"`)
						name, _, _ := strings.Cut(behind, `"`)
						lines = append(lines, name)
					}
				}
				slices.Sort(lines)
				return strings.Join(lines, "\n")
			}
			c := claimsCaseOf(given)
			return generateNames(resourceclaimCore.RunUpstream(t, c)), generateNames(c.trace(c.options))
		},
		Upstream: "-" + strings.Repeat("e", 54) + "\n" + strings.Repeat("a", 47) + ".-" + strings.Repeat("e", 7) + "\n" + strings.Repeat("q", 54) + "-",
		Ours:     strings.Repeat("a", 47) + "-" + strings.Repeat("e", 7) + "\np-" + strings.Repeat("e", 54) + "\n" + strings.Repeat("q", 54) + "-e",
	},
	{
		ID:    "D-10",
		Title: "the deletion of this claim, as it was read",
		Why: "Between the decision and the request, the claim may have been reserved, or have gone and come again under its name. Upstream's deletion takes whatever is there. " +
			"The default's carries the UID, and the version as well when no write of the same pass goes before it.",
		Given: func() []runtime.Object {
			p := claimPod("p", "uid-p")
			p.Status.Phase = corev1.PodFailed
			return []runtime.Object{p, claimOf("c", "p", "gpu")}
		},
		Run:      bothClaims,
		Upstream: `delete resourceclaims ns/c: {}`,
		Ours:     `delete resourceclaims ns/c: {"preconditions":{"resourceVersion":"100","uid":"uid-c"}}`,
	},
	{
		ID:    "D-16",
		Title: "two entries that name one claim",
		Why: "Upstream reserves the claim once for each of the entries. The second request has the version from before the first one and fails, and the pod is tried again. " +
			"The default reserves it once.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), named("a", "shared"), named("b", "shared"))
			p.Spec.NodeName = "node"
			return []runtime.Object{p, inUse(claimOf("shared", "", ""))}
		},
		Run:      bothClaims,
		Upstream: reservedOnce + "\n" + reservedOnce,
		Ours:     reservedOnce,
	},
	{
		ID:    "D-17",
		Title: "a claim that is being deleted already",
		Why:   "Upstream deletes the claim of a pod that is done on every pass, also when its deletion has begun and waits for somebody's finalizer. The default asks once.",
		Given: func() []runtime.Object {
			p := claimPod("p", "uid-p")
			p.Status.Phase = corev1.PodFailed
			c := claimOf("c", "p", "gpu")
			c.Finalizers, c.DeletionTimestamp = []string{"example.com/other"}, &metav1.Time{Time: Epoch}
			return []runtime.Object{p, c}
		},
		Run:      bothClaims,
		Upstream: `delete resourceclaims ns/c: {}`,
		Ours:     `nothing`,
	},
	{
		ID:    "D-21",
		Title: "a pod that takes its predecessor's name",
		Why: "Pods and claims are cached apart. While the pods are behind, the one that the cache has under the name of a claim's consumer may be its predecessor: a StatefulSet's pod comes back under its " +
			"name. Upstream takes the consumer for replaced and takes the device away from a pod that runs. The default looks the consumer up first.",
		Setting: "The API server has the pod p with the UID uid-p, the one that the claim is reserved for.",
		Given: func() []runtime.Object {
			p := claimPod("p", "uid-before")
			p.Status.Phase = corev1.PodSucceeded
			c := inUse(claimOf("shared", "", ""))
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "uid-p"}}
			return []runtime.Object{p, c}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			c := claimsCaseOf(given)
			c.live = []*corev1.Pod{claimPod("p", "uid-p")}
			return resourceclaimCore.RunUpstream(t, c).String(), c.trace(c.options).String()
		},
		Upstream: `update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{}}
update resourceclaims ns/shared: {"metadata":{"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},"spec":{"devices":{"requests":null}},"status":{}}`,
		Ours: `get pods ns/p`,
	},
	{
		ID:    "D-26",
		Title: "the status of this pod, not of the next one of its name",
		Why: "The pod may be gone, and another of its name there, by the time the names of its claims are written. Upstream's apply then gives the new pod the names of the old one's claims. " +
			"The default's carries the UID, and the API server refuses it.",
		Given: func() []runtime.Object {
			return []runtime.Object{withEntries(claimPod("p", "uid-p"), templated("gpu", "t")), claimOf("p-gpu-x4z9k", "p", "gpu")}
		},
		Run: bothClaims,
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-x4z9k"}]}}`,
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-x4z9k"}]}}`,
	},
	{
		ID:    "D-27",
		Title: "a PodGroup's claim, with PodGroups off",
		Why: "The status names a claim of the pod's PodGroup, which a controller with PodGroups on has written. v1.36 with the feature off makes a claim for the pod alone and takes the pod off its group's devices; " +
			"v1.37 does nothing for the pod at all. In the default, without Options.PodGroupOf, the entry is an error, its status stays, and the pod's other entries get what is theirs.",
		Given: func() []runtime.Object {
			p := inPodGroup(withEntries(claimPod("p", "uid-p"), templated("gpu", "t"), templated("nic", "t")), "g")
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("g-gpu-x4z9k")}}
			return []runtime.Object{p, claimOfPodGroup("g-gpu-x4z9k", "uid-g", "gpu"), claimTemplate("t")}
		},
		Run: bothClaims,
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-00001"},{"name":"nic","resourceClaimName":"p-nic-00001"}]}}
create resourceclaims ns/: ` + createdFor("gpu") + `
create resourceclaims ns/: ` + createdFor("nic"),
		In:        []purekube.Upstream{purekube.V1_36},
		Elsewhere: "error for pod:ns/p",
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"g-gpu-x4z9k"},{"name":"nic","resourceClaimName":"p-nic-00001"}]}}
create resourceclaims ns/: ` + createdFor("nic") + `
error for pod:ns/p`,
	},
	{
		ID:    "D-28",
		Title: "a claim that the cache does not show yet",
		Why: "The pod's status names a claim that no cache has. v1.36 takes it for gone and makes another one, and the first one stays until the pod goes. The claim may have been made a moment ago by a " +
			"process that has crashed since. The default, and v1.37, look it up first.",
		Setting: "The API server has the claim p-gpu-x4z9k, which the pod p controls.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("gpu", "t"))
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("p-gpu-x4z9k")}}
			return []runtime.Object{p, claimTemplate("t")}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			c := claimsCaseOf(given)
			c.liveClaims = []*resourcev1.ResourceClaim{claimOf("p-gpu-x4z9k", "p", "gpu")}
			return resourceclaimCore.RunUpstream(t, c).String(), c.trace(c.options).String()
		},
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-00001"}]}}
create resourceclaims ns/: ` + createdFor("gpu"),
		Ours:      "get resourceclaims ns/p-gpu-x4z9k",
		In:        []purekube.Upstream{purekube.V1_36},
		Elsewhere: "get resourceclaims ns/p-gpu-x4z9k",
	},
	{
		ID:      "D-31",
		Title:   "the names of a PodGroup's claims flap",
		Why:     "For the status of a PodGroup, v1.37 does what v1.36 does for that of a pod (D-5): its apply has the new names only, and the API server takes away those that it applied before. The default applies all of them.",
		Setting: podGroupsOn,
		Given: func() []runtime.Object {
			g := somePodGroup("g", templated("a", "t"), templated("b", "t"))
			g.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("g-a-x4z9k")}}
			return []runtime.Object{writePodGroup(g), claimOfPodGroup("g-a-x4z9k", "uid-g", "a"), claimOfPodGroup("g-b-l92c5", "uid-g", "b")}
		},
		Run: bothWithPodGroups(),
		In:  []purekube.Upstream{purekube.V1_37},
		Upstream: `apply podgroups/status ns/g by ResourceClaimController with force: {"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"g","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"g-b-l92c5"}]}}`,
		Ours: `apply podgroups/status ns/g by ResourceClaimController with force: {"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"g","namespace":"ns","uid":"uid-g"},` +
			`"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"g-a-x4z9k"},{"name":"b","resourceClaimName":"g-b-l92c5"}]}}`,
	},
	{
		ID:    "D-32",
		Title: "a pod whose PodGroup the cache does not have",
		Why: "Upstream fails the whole pod, without an event, the claims that it has of its own included, and comes back by its back-off alone. The default looks the group up. Where there is none, it is not known which entries are " +
			"the group's, so that no claim is made; but the claims that are the pod's own are named and reserved.",
		Setting: podGroupsOn + " The API server has no PodGroup g.",
		Given: func() []runtime.Object {
			p := inPodGroup(withEntries(claimPod("p", "uid-p"), named("nic", "shared"), templated("gpu", "t")), "g")
			p.Spec.NodeName = "node"
			return []runtime.Object{p, inUse(claimOf("shared", "", "")), claimTemplate("t")}
		},
		Run:      bothWithPodGroups(),
		In:       []purekube.Upstream{purekube.V1_37},
		Upstream: "error for pod:ns/p",
		Ours:     "get podgroups ns/g\n" + reservedOnce + "\nerror for pod:ns/p",
	},
	{
		ID:    "D-33",
		Title: "a reservation of the PodGroup that had the name before",
		Why: "A pod knows its group by name, and so upstream takes a reservation for another group of that name, which is gone, for the pod's. When that reservation is taken away, the claim is deallocated under the pods that run. " +
			"The default compares the UID, and reserves the claim for the group that is there.",
		Setting: podGroupsOn + " What stands under default is the pod's plan.",
		Given: func() []runtime.Object {
			p := inPodGroup(withEntries(claimPod("p", "uid-p"), named("gpu", "shared")), "g")
			p.Spec.NodeName = "node"
			c := inUse(claimOf("shared", "", ""))
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "uid-old-g"}}
			return []runtime.Object{p, writePodGroup(somePodGroup("g", named("gpu", "shared"))), c}
		},
		Run: bothWithPodGroups(resourceclaim.PodKey("ns", "p")),
		In:  []purekube.Upstream{purekube.V1_37},
		Upstream: `update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{}}
update resourceclaims ns/shared: {"metadata":{"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},"spec":{"devices":{"requests":null}},"status":{}}`,
		Ours: `update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":{}},"reservedFor":[` +
			`{"apiGroup":"scheduling.k8s.io","name":"g","resource":"podgroups","uid":"uid-old-g"},{"apiGroup":"scheduling.k8s.io","name":"g","resource":"podgroups","uid":"uid-g"}]}}`,
	},
	{
		ID:    "D-34",
		Title: "a pod keeps the name of its PodGroup's claim that is gone",
		Why: "A claim of a PodGroup was deleted, and the group has got another one. Upstream sees that the claim which the status of its pods names is missing, leaves it to the group, and does not look at these pods again: " +
			"they wait for a claim that does not come back. With and Without of the group or the claim name the pods, and the default gives them the name of the new claim.",
		Setting: podGroupsOn + " The claim g-gpu-x4z9k is gone from the API server too. What stands under default is the pod's plan.",
		Given: func() []runtime.Object {
			g := somePodGroup("g", templated("gpu", "t"))
			g.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("g-gpu-l92c5")}}
			p := inPodGroup(withEntries(claimPod("p", "uid-p"), templated("gpu", "t")), "g")
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("g-gpu-x4z9k")}}
			return []runtime.Object{p, writePodGroup(g), claimOfPodGroup("g-gpu-l92c5", "uid-g", "gpu")}
		},
		Run:      bothWithPodGroups(resourceclaim.PodKey("ns", "p")),
		In:       []purekube.Upstream{purekube.V1_37},
		Upstream: "nothing",
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"g-gpu-l92c5"}]}}
get resourceclaims ns/g-gpu-x4z9k`,
	},
	{
		ID:    "D-36",
		Title: "a PodGroup that is removed by force",
		Why: "A PodGroup has a finalizer that keeps it while its pods run, and somebody removed that. Upstream finds that the group is gone, releases its claim and deallocates it, and takes the devices from the running pods. " +
			"In the default the reservation stays while a pod of the group that is not done uses the claim. The claim is released when the last of them is done or gone.",
		Setting: podGroupsOn + " The API server has no PodGroup g. What stands under default is the claim's plan.",
		Given: func() []runtime.Object {
			p := inPodGroup(withEntries(claimPod("p", "uid-p"), templated("gpu", "t")), "g")
			p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("shared")}}
			c := inUse(claimOfPodGroup("shared", "uid-g", "gpu"))
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "uid-g"}}
			return []runtime.Object{p, c}
		},
		Run: bothWithPodGroups(resourceclaim.ClaimKey("ns", "shared")),
		In:  []purekube.Upstream{purekube.V1_37},
		Upstream: `get podgroups ns/g
update resourceclaims/status ns/shared: ` + groupsClaimAfter(`,"finalizers":["resource.kubernetes.io/delete-protection"]`) + `
update resourceclaims ns/shared: ` + groupsClaimAfter(""),
		Ours: "nothing",
	},
	{
		ID:    "D-37",
		Title: "a pod that comes back with its UID",
		Why: "The controller saw a pod go, and etcd was then restored from a backup: the pod runs again, with the UID that it had. Upstream goes by what it saw, and takes the device away from a pod that runs, " +
			"whether its cache shows the pod again or not. For the default, a UID that was seen to be deleted proves no absence. The pod is looked up, one time for each deleted consumer, and the API server's answer wins. The same holds for PodGroups.",
		Setting: "The controller has seen the pod with the UID uid-p deleted.",
		Given: func() []runtime.Object {
			p := claimPod("p", "uid-p")
			p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
			c := inUse(claimOf("shared", "", ""))
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{consumerOf(p)}
			return []runtime.Object{p, c}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			c := claimsCaseOf(given)
			c.deleted = []types.UID{"uid-p"}
			return resourceclaimCore.RunUpstream(t, c).String(), c.trace(c.options).String()
		},
		Upstream: `update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
			`"spec":{"devices":{"requests":null}},"status":{}}
update resourceclaims ns/shared: {"metadata":{"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},"spec":{"devices":{"requests":null}},"status":{}}`,
		Ours: `get pods ns/p`,
	},
	{
		ID:    "D-38",
		Title: "a claim whose owner an admission policy has changed",
		Why: "The pod's status names a claim that was created for it, but an admission policy has dropped the controller flag of its owner reference. Upstream does not take the claim for the pod's: it leaves such a pod alone, but whenever it works on the pod for another reason, " +
			"it creates one more claim, which the policy changes as well. In the default the entry is an error and gets no other claim. A claim that says by its owner reference and its annotation or generateName which entry it is for is put into the status.",
		Given: func() []runtime.Object {
			p := withEntries(claimPod("p", "uid-p"), templated("gpu", "t"), templated("nic", "t"))
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("p-gpu-x4z9k")}}
			c := claimOf("p-gpu-x4z9k", "p", "gpu")
			c.OwnerReferences[0].Controller = nil
			return []runtime.Object{p, c, claimTemplate("t")}
		},
		Run: bothClaims,
		Upstream: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-00001"},{"name":"nic","resourceClaimName":"p-nic-00001"}]}}
create resourceclaims ns/: ` + createdFor("gpu") + `
create resourceclaims ns/: ` + createdFor("nic"),
		Ours: `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"uid-p"},` +
			`"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-x4z9k"},{"name":"nic","resourceClaimName":"p-nic-00001"}]}}
create resourceclaims ns/: ` + createdFor("nic") + `
error for pod:ns/p`,
	},
}

// groupsClaimAfter is the body of the claim of the PodGroup g after it was released, with these finalizers.
func groupsClaimAfter(finalizers string) string {
	return `{"metadata":{"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"}` + finalizers + `,"name":"shared","namespace":"ns",` +
		`"ownerReferences":[{"apiVersion":"scheduling.k8s.io/v1beta1","controller":true,"kind":"PodGroup","name":"g","uid":"uid-g"}],` +
		`"resourceVersion":"100","uid":"uid-shared"},"spec":{"devices":{"requests":null}},"status":{}}`
}

// createdFor is the body of the claim that is made for an entry of the pod p.
func createdFor(entry string) string {
	return `{"metadata":{"annotations":{"resource.kubernetes.io/pod-claim-name":"` + entry + `"},"generateName":"p-` + entry + `-",` +
		`"ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod","name":"p","uid":"uid-p"}]},"spec":{"devices":{"requests":[{"name":"gpu"}]}},"status":{}}`
}

const reservedOnce = `update resourceclaims/status ns/shared: {"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"],"name":"shared","namespace":"ns","resourceVersion":"100","uid":"uid-shared"},` +
	`"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":{}},"reservedFor":[{"name":"p","resource":"pods","uid":"uid-p"}]}}`

func bothClaims(t *testing.T, given []runtime.Object) (upstream, ours string) {
	c := claimsCaseOf(given)
	return resourceclaimCore.RunUpstream(t, c).String(), c.trace(c.options).String()
}

func claimsCaseOf(objects []runtime.Object) claimsCase {
	c := claimsCase{snapshot: resourceclaim.Snapshot{Now: Epoch}}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Pod:
			c.snapshot.Pods = append(c.snapshot.Pods, o)
		case *resourcev1.ResourceClaim:
			c.snapshot.Claims = append(c.snapshot.Claims, o)
		case *resourcev1.ResourceClaimTemplate:
			c.snapshot.Templates = append(c.snapshot.Templates, o)
		case *unstructured.Unstructured:
			c.snapshot.PodGroups = append(c.snapshot.PodGroups, readPodGroup(o))
		default:
			panic(fmt.Sprintf("%T", o))
		}
	}
	return c
}

func templated(entry, template string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: &template}
}

func named(entry, claim string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimName: &claim}
}

func withEntries(p *corev1.Pod, entries ...corev1.PodResourceClaim) *corev1.Pod {
	p.Spec.ResourceClaims = entries
	return p
}

// inUse is an allocated claim, with the finalizer that comes with that.
func inUse(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c.Finalizers = []string{resourcev1.Finalizer}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	return c
}

func claimTemplate(name string) *resourcev1.ResourceClaimTemplate {
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu"}}
	return t
}

// consumerOf is how the pod appears in a claim's status.reservedFor.
func consumerOf(p *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID}
}
