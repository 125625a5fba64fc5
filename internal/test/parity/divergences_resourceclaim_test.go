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
		Title: "the names of a pod's claims are removed and added in turn",
		Harm: "status.resourceClaimStatuses always lacks one of the pod's claims. The pod may never be scheduled, " +
			"and the writes continue forever",
		Since: "v1.28",
		Why: "A server-side apply removes what the same field manager applied earlier and now leaves out. The " +
			"controller applies only the names of the claims that it created or found in this pass. The names " +
			"that it applied earlier are removed from the pod's status, the next pass adds them and removes the " +
			"others, and so on. By default, purekube applies all names.",
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
		Title: "an entry of a pod that needs no claim",
		Harm: "None while kube-controller-manager is the only writer. An entry that its field manager applied " +
			"earlier is lost, and the pod gets a claim for it",
		Since: "v1.28",
		Why: "An entry of status.resourceClaimStatuses without a name says that no claim is needed. The controller " +
			"leaves such an entry out of its apply, v1.37 included, although v1.37 repeats the names. The API " +
			"server then removes the entry if the same field manager applied it before. By default, purekube " +
			"applies the entry as well.",
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
		ID:    "D-6",
		Title: "the controller changes a template in its cache",
		Harm: "Other readers of the informer cache see an annotation that the ResourceClaimTemplate does not have, " +
			"and several workers write to one map",
		Since: "v1.28",
		Why: "The controller writes the annotation of the claim that it creates into the template, which it shares " +
			"with all readers of its cache. purekube never writes to an input, with or without " +
			"Options.MatchUpstream.",
		Setting: "The lines below are the annotations for claims that the template in the cache has after a claim was " +
			"created from it.",
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
		Title: "a claim for a pod that has finished",
		Harm: "A finished pod gets a claim or a reservation that the controller removes again, forever. The device " +
			"is not free in the meantime",
		Since: "v1.26 (reservations: v1.28)",
		Why: "When the generated claim of a finished pod has been deleted, the controller creates another one, " +
			"writes its name into the pod's status, and deletes the claim again. It also reserves claims for a " +
			"finished pod and releases them at once. By default, a finished pod gets no claim and no reservation.",
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
		Title: "an entry that fails stops the other entries of the pod",
		Harm: "While one template or claim is missing, the pod's other claims are not created, not named in its " +
			"status or not reserved",
		Since: "v1.26",
		Why: "The controller ends its pass over a pod at the first entry that fails, and does not write the names " +
			"of the claims that it has created until then. It stops reserving at the first entry whose claim does " +
			"not exist yet. By default, purekube handles every entry and returns the errors in addition.",
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
		Title: "the API server rejects one claim of a pod",
		Harm: "While a quota or an admission plugin rejects one claim, the pod's other claims are not created, not " +
			"named in its status and not reserved",
		Since: "v1.26",
		Why: "The controller also stops at the first claim that a quota or an admission plugin rejects. It does " +
			"not write the names of the claims created before, does not create the later ones, and does not " +
			"reserve the existing ones. By default, all of this is done; the failure is an event and a retry.",
		Setting: "The API server rejects the claim of the entry b.",
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
		Title: "a generateName that is not a valid name",
		Harm: "The API server rejects the claim every time, and the pod stays Pending. It takes long names of pod " +
			"and entry",
		Since: "v1.28",
		Why: "When the names of pod and entry together are too long, the controller shortens both in proportion. " +
			"The result may have a dot before the dash, begin with a dash, or contain nothing of the entry's " +
			"name. The first two are not valid names, so the pod never gets its claim. By default, the " +
			"generateName is always valid and contains a part of both names. It is the same as the controller's " +
			"where that one is valid and complete.",
		Setting: "The lines below are the values of generateName.",
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
		Title: "the deletion of a claim has no precondition",
		Harm:  "A claim that the scheduler has just reserved, or a new claim of the same name, is deleted",
		Since: "v1.28",
		Why: "Between the decision and the request, the claim can be reserved, or deleted and created again under " +
			"its name. The controller's request deletes whatever has the name. By default, the request carries " +
			"the UID as a precondition, and the resourceVersion as well if no other write of the same plan comes " +
			"before it.",
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
		Title: "two entries of a pod name the same claim",
		Harm:  "One request fails with a conflict, and the pod is retried",
		Since: "v1.28",
		Why: "The controller reserves the claim once for each entry. The second request has the resourceVersion " +
			"from before the first one and fails, and the pod is retried. By default, purekube reserves the claim " +
			"once.",
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
		Title: "a claim that is already being deleted",
		Harm:  "Every pass sends another DELETE for the claim until its last finalizer is removed",
		Since: "v1.28",
		Why: "The controller deletes the claim of a finished pod on every pass, even when its deletion has begun " +
			"and waits for a finalizer. By default, purekube sends the request once.",
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
		Title: "a pod replaces a pod of the same name",
		Harm:  "A running pod loses its reservation, and its device may be allocated to another pod",
		Since: "v1.26",
		Why: "Pods and claims have separate caches. When the cache of pods lags, it may still have the predecessor " +
			"of the pod that a claim is reserved for, for example a StatefulSet's pod that was recreated under " +
			"its name. The controller concludes that the consumer was replaced and releases the claim of a " +
			"running pod. By default, purekube asks for a lookup of the consumer first.",
		Setting: "The API server has the pod p with the UID uid-p, for which the claim is reserved.",
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
		Title: "the claim names are written to a new pod of the same name",
		Harm:  "The status of a new pod has the names of its predecessor's claims until the next pass",
		Since: "v1.28",
		Why: "A pod can be deleted and created again under its name before the names of its claims are written. " +
			"The controller's apply then writes the names of the old pod's claims to the new pod. By default, the " +
			"apply carries the UID, and the API server rejects it for another object.",
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
		Title: "a claim of a PodGroup while the feature is off",
		Harm: "v1.36: the pod gets a claim of its own and leaves the devices of its PodGroup. v1.37: the pod gets " +
			"none of its claims",
		Since: "v1.36",
		Why: "The pod's status names a claim of its PodGroup, which a controller with the feature on has written. " +
			"With the feature off, the controller of v1.36 creates a claim for the pod alone, so the pod no " +
			"longer uses the devices of its group. The controller of v1.37 does nothing for the pod. By default, " +
			"without Options.PodGroupOf, the entry is an error and keeps its status; the pod's other entries are " +
			"handled.",
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
		Harm:  "The pod gets a second claim, and the first one stays unused until the pod is deleted",
		Since: "v1.28",
		Why: "The pod's status names a claim that is in no cache. A process that has crashed since may have " +
			"created it a moment ago. The controller of v1.36 concludes that the claim is gone and creates " +
			"another one. The first one stays until the pod is deleted. purekube by default, and v1.37, look the " +
			"claim up first.",
		Setting: "The API server has the claim p-gpu-x4z9k, whose controller is the pod p.",
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
		ID:    "D-31",
		Title: "the names of a PodGroup's claims are removed and added in turn",
		Harm: "status.resourceClaimStatuses always lacks one of the PodGroup's claims. Its pods may never be " +
			"scheduled, and the writes continue forever",
		Since: "v1.36",
		Why: "For the status of a PodGroup, the controller of v1.37 does what v1.36 does for the status of a pod " +
			"(D-5): it applies only the new names, and the API server removes the names applied earlier. By " +
			"default, purekube applies all names.",
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
		Title: "the cache does not have a pod's PodGroup",
		Harm: "Without any event, none of the pod's claims is created or reserved, not even the claims that are its " +
			"own",
		Since: "v1.36",
		Why: "The controller fails the whole pod without an event, including the claims that are the pod's own, " +
			"and retries only with a back-off. By default, purekube asks for a lookup of the group. If the group " +
			"does not exist, it is unknown which entries are the group's, so no claim is created; the pod's own " +
			"claims are named and reserved.",
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
		Title: "a reservation for a deleted PodGroup of the same name",
		Harm: "The claim is deallocated while pods of the new PodGroup use its devices, and these may be allocated " +
			"to other pods",
		Since: "v1.36",
		Why: "A pod knows its group by name only. The controller therefore accepts a reservation for an earlier, " +
			"deleted group of that name as the pod's. When it removes that reservation, it deallocates the claim " +
			"of running pods. By default, purekube compares the UID and reserves the claim for the existing " +
			"group.",
		Setting: podGroupsOn + " The lines of purekube are the plan of the pod.",
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
			`{"apiGroup":"scheduling.k8s.io","name":"g","resource":"podgroups","uid":"uid-g"},{"apiGroup":"scheduling.k8s.io","name":"g","resource":"podgroups","uid":"uid-old-g"}]}}`,
	},
	{
		ID:    "D-34",
		Title: "a pod's status names a deleted claim of its PodGroup",
		Harm:  "The pods of the group stay Pending, because their status names a claim that no longer exists",
		Since: "v1.36",
		Why: "A claim of a PodGroup was deleted, and the group has another one. The controller sees that the claim " +
			"named in the pods' status is missing, leaves it to the group, and does not look at these pods again. " +
			"The pods wait for a claim that no longer exists. By default, With and Without return the keys of " +
			"these pods when the group or the claim changes, and purekube writes the name of the new claim to " +
			"their status.",
		Setting: podGroupsOn + " The API server does not have the claim g-gpu-x4z9k either. The lines of purekube are the plan of the pod.",
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
		Title: "a PodGroup is removed while its pods run",
		Harm:  "Running pods lose their reservation, and their devices may be allocated to other pods",
		Since: "v1.36",
		Why: "A finalizer keeps a PodGroup while its pods run, but somebody removed the finalizer. The controller " +
			"finds that the group is gone, releases and deallocates its claim, and takes the devices from the " +
			"running pods. By default, the claim stays reserved while an unfinished pod of the group uses it. It " +
			"is released when the last of these pods has finished or is gone.",
		Setting: podGroupsOn + " The API server has no PodGroup g. The lines of purekube are the plan of the claim.",
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
		Title: "a deleted pod exists again with the same UID",
		Harm: "After a restore of etcd, a running pod loses its reservation, and its device may be allocated to " +
			"another pod",
		Since: "v1.26",
		Why: "The controller saw the deletion of a pod, and then etcd was restored from a backup: the pod runs " +
			"again, with the same UID. The controller relies on the deletion that it saw and takes the device " +
			"from a running pod, whether its cache shows the pod again or not. By default, a UID that was seen to " +
			"be deleted is no proof of absence. purekube asks for one lookup of each deleted consumer, and the " +
			"answer of the API server decides. The same rule applies to PodGroups.",
		Setting: "The controller has seen the deletion of the pod with the UID uid-p.",
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
		Title: "an admission policy changes the owner of a created claim",
		Harm:  "Each pass over the pod creates one more claim, which the pod cannot use",
		Since: "v1.28",
		Why: "The pod's status names a claim that was created for it, but an admission policy has removed the " +
			"controller flag from the claim's owner reference. The controller does not recognize the claim as the " +
			"pod's. It ignores such a pod, but whenever it works on the pod for another reason, it creates one " +
			"more claim, which the policy changes as well. By default, the entry is an error and gets no other " +
			"claim. A claim whose owner reference and annotation or generateName show which entry it is for is " +
			"put into the status.",
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
