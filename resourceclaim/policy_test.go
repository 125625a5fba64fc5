package resourceclaim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// An admission policy takes away from created claims what says whose they are. Each entry gets one claim, which its status
// names, however many events come after it.
func TestPolicyThatChangesClaimsMakesNoMoreOfThem(t *testing.T) {
	tenant := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Tenant", Name: "a", UID: "uid-a", Controller: ptr.To(true)}
	for name, policy := range map[string]func(*resourcev1.ResourceClaim){
		"no annotations":     func(c *resourcev1.ResourceClaim) { c.Annotations = nil },
		"no controller flag": func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = nil },
		"controller: false":  func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = ptr.To(false) },
		"neither":            func(c *resourcev1.ResourceClaim) { c.Annotations, c.OwnerReferences[0].Controller = nil, nil },
		"another controller": func(c *resourcev1.ResourceClaim) {
			c.OwnerReferences[0].Controller, c.GenerateName = nil, ""
			c.OwnerReferences = append(c.OwnerReferences, tenant)
		},
		"no owner":              func(c *resourcev1.ResourceClaim) { c.OwnerReferences = nil },
		"no owner, nor a name":  func(c *resourcev1.ResourceClaim) { c.OwnerReferences, c.Annotations, c.GenerateName = nil, nil, "" },
		"another owner instead": func(c *resourcev1.ResourceClaim) { c.OwnerReferences = []metav1.OwnerReference{tenant} },
	} {
		for _, dynamic := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dynamic %t", name, dynamic), func(t *testing.T) {
				group := &apiserver.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "train"}}
				group.Spec.ResourceClaims = []corev1.PodResourceClaim{groupWants("gpu", "gpu")}
				c := &served{Server: apiserver.New(newTemplate("gpu"), group, newPod("two-0", wants("gpu", "gpu"), wants("nic", "gpu"))),
					options: grouped, dynamic: dynamic}
				c.Refuse = func(r purekube.Request) error {
					if r.Verb == "create" { // the claim has its name when the policy sees it
						claim := r.Object.(*resourcev1.ResourceClaim)
						claim.Name = fmt.Sprintf("%s%d", claim.GenerateName, len(c.snapshot().Claims))
						policy(claim)
					}
					return nil
				}
				c.settle(t)
				for i := range 20 {
					p := c.snapshot().Pods[0]
					p.Labels = map[string]string{"n": fmt.Sprint(i)}
					c.Put(p)
					c.settle(t)
				}
				s := c.snapshot()
				require.Len(t, s.Claims, 3, "one for each entry of the pod and the group")
				entries := slices.Concat(s.Pods[0].Status.ResourceClaimStatuses, s.PodGroups[0].ResourceClaimStatuses)
				require.Len(t, entries, 3)
				for _, entry := range entries {
					require.True(t, slices.ContainsFunc(s.Claims, func(c *resourcev1.ResourceClaim) bool { return c.Name == *entry.ResourceClaimName }))
					require.Contains(t, *entry.ResourceClaimName, "-"+entry.Name+"-", "it is the entry's")
				}
			})
		}
	}
}

// The status names a claim that may have been created for the entry but is not controlled by the pod: another one would
// fare no better. A claim of another pod or PodGroup is replaced as before.
func TestD38_NoClaimAfterOneWithoutItsController(t *testing.T) {
	makes := []string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}
	tenant := func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Tenant", Name: "a", UID: "uid-a", Controller: ptr.To(true)})
	}
	generateNamed := func(name string) claimOption {
		return func(c *resourcev1.ResourceClaim) { c.GenerateName = name }
	}
	noFlag := func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = nil }
	mine := newClaim("mine", madeFor("p", "gpu"))
	for _, tc := range []struct {
		name, reason string
		named        *resourcev1.ResourceClaim
		others       []*resourcev1.ResourceClaim
		want         []string // nil: the entry is an error
	}{
		{"no controller flag", "it was made for the pod", newClaim("c", madeFor("p", "gpu"), noFlag), nil, nil},
		{"no owner", "nobody else's", newClaim("c"), nil, nil},
		{"another controller, the pod owns it too", "it was made for the pod", newClaim("c", madeFor("p", "gpu"), noFlag, tenant), nil, nil},
		{"another controller, the entry's generateName", "it was made for the entry", newClaim("c", tenant, generateNamed("p-gpu-")), nil, nil},
		{"another controller, another generateName", "it is somebody else's", newClaim("c", tenant, generateNamed("q-gpu-")), nil, makes},
		{"another pod's", "it is somebody else's", newClaim("c", madeFor("q", "gpu")), nil, makes},
		{"its predecessor's", "it is somebody else's", newClaim("c", ownedBy("p", "uid-old"), generateNamed("p-gpu-")), nil, makes},
		{"a PodGroup's", "it is somebody else's", newClaim("c", ofGroup("g", "uid-g", "gpu")), nil, makes},
		{"a PodGroup's of the pod's name", "both have the same generateName, and the controller tells them apart", newClaim("c", ofGroup("p", "uid-g", "gpu"), generateNamed("p-gpu-")), nil, makes},
		{"no owner, and there is one of the pod's", "that one is named", newClaim("c"), claims(mine), []string{"SetClaimStatuses ml/p: gpu=mine"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := newPod("p", has("gpu", "gpu", "c"))
			for where, s := range map[string]Snapshot{
				"cached":    {Claims: append(claims(tc.named), tc.others...)},
				"assumed":   {Assumed: append(claims(tc.named), tc.others...)},
				"confirmed": {Answers: askedClaims(tc.named), Claims: tc.others},
			} {
				s.Pods, s.Templates = pods(pod), templates(newTemplate("gpu"))
				r, err := Plan(s, podKey("p"), grouped)
				require.Equal(t, tc.want, lines(r.Actions), "%s: %s", where, tc.reason)
				if tc.want != nil {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, ErrNotController)
				require.ErrorContains(t, err, "spec.resourceClaims[0]")
				require.Empty(t, r.Events, "the pod is not at fault")
				explained, _ := NewIndex(s, grouped).Explain(podKey("p"))
				require.Equal(t, ReasonClaimFailed, explained.Reasons[0].Code)
				up, err := Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_37})
				require.NoError(t, err)
				require.Equal(t, makes, lines(up.Actions), "upstream's pass creates another one")
			}
		})
	}
}

// What a client returns for a create is not always a claim: then the entry stays pending, and that is an error.
func TestCreateWithoutAnAnswerIsAnError(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", wants("a", "gpu"), wants("b", "gpu"))), Templates: templates(newTemplate("gpu"))}
	r, err := Plan(s, podKey("p"), Options{})
	require.NoError(t, err)
	request := r.Actions[2].Request([]runtime.Object{&metav1.Status{}, newClaim("made")})
	require.ErrorIs(t, request.Err, errNoClaimCreated)
	require.EqualError(t, request.Err, "Pod ml/p: status.resourceClaimStatuses: the answer to the create is not a claim of this namespace with a name: entry a")
	require.True(t, strings.Contains(string(request.Patch), `"made"`), "the other entry is named all the same")
}

// D-38: without a controller, the first pod or PodGroup among the owners is the one that the claim was made for.
func TestOwnersWithoutAController(t *testing.T) {
	owner := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID("uid-" + name)}
	}
	gpu := templates(newTemplate("gpu"))
	for _, tc := range []struct {
		name, reason string
		owners       []metav1.OwnerReference
		want         []string
	}{
		{"a pod behind another kind", "the other kind gets no claims", []metav1.OwnerReference{owner("ConfigMap", "x"), owner("Pod", "p")}, []string{"SetClaimStatuses ml/p: gpu=c"}},
		{"a pod before another pod", "the first counts", []metav1.OwnerReference{owner("Pod", "p"), owner("Pod", "q")}, []string{"SetClaimStatuses ml/p: gpu=c"}},
		{"another pod first", "the claim is that one's", []metav1.OwnerReference{owner("Pod", "q"), owner("Pod", "p")},
			[]string{"CreateClaim ml/p gpu: p-gpu-*", "SetClaimStatuses ml/p: gpu pending"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClaim("c", madeFor("p", "gpu"), func(c *resourcev1.ResourceClaim) {
				c.OwnerReferences, c.GenerateName = tc.owners, "p-gpu-" // with the annotation, the name says nothing
			})
			r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(c), Templates: gpu}, podKey("p"), Options{})
			require.NoError(t, err)
			require.Equal(t, tc.want, lines(r.Actions), tc.reason)
		})
	}
}

// The scheduler's claim for extended resources has a generateName that an entry may have as well. It is no claim of the
// entry: its requests are not the template's.
func TestD38_ClaimForExtendedResourcesIsNotAdopted(t *testing.T) {
	c := newClaim("c", ownedBy("p", "uid-p"), func(c *resourcev1.ResourceClaim) {
		c.GenerateName = "p-extended-resources-"
		c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	})
	s := Snapshot{Pods: pods(newPod("p", wants("extended-resources", "gpu"))), Claims: claims(c), Templates: templates(newTemplate("gpu"))}
	for _, tc := range []struct {
		name, reason string
		annotated    bool
		want         []string
	}{
		{"the scheduler's", "the entry gets a claim of its own", true, []string{"CreateClaim ml/p extended-resources: p-extended-resources-*", "SetClaimStatuses ml/p: extended-resources pending"}},
		{"not the scheduler's", "a policy has taken the entry's annotation off", false, []string{"SetClaimStatuses ml/p: extended-resources=c"}},
	} {
		if !tc.annotated {
			c.Annotations = nil
		}
		r, err := Plan(s, podKey("p"), Options{})
		require.NoError(t, err, tc.name)
		require.Equal(t, tc.want, lines(r.Actions), "%s: %s", tc.name, tc.reason)
	}
}

// D-38: of a changed claim, too, it has to be known which version counts.
func TestChangedClaimOfWhichThereAreTwo(t *testing.T) {
	c := newClaim("c", madeFor("p", "gpu"), func(c *resourcev1.ResourceClaim) { c.OwnerReferences[0].Controller = nil })
	r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Claims: claims(c, c.DeepCopy()), Templates: templates(newTemplate("gpu"))}, podKey("p"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Empty(t, r.Actions, "no other claim is made")
}
