package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// step is one request to both API servers.
type step struct {
	name string
	// request is made from the object as that server has it, nil if it has none, and as it was at the beginning:
	// resourceVersions are each server's own.
	request func(now, first apiserver.Object) purekube.Request
	// again: before the request a user deletes the object, and makes another one of the name.
	again bool
	// code of the answer.
	code int
	// unchanged is the release whose API server leaves the object as it is. No step can follow.
	unchanged string
}

// sends is a request that does not depend on the object's version.
func sends(a purekube.Action) func(now, first apiserver.Object) purekube.Request {
	return func(_, _ apiserver.Object) purekube.Request { return a.Request(nil) }
}

// TestMemoryAnswersAsTheAPIServer: internal/test/apiserver, with which internal/test/model and others play a cluster, answers each request
// of the packages' actions as the real API server does, and holds the same object afterwards.
func TestMemoryAnswersAsTheAPIServer(t *testing.T) {
	w := newWorld(t)
	ns := w.namespace(t, "memory")
	for _, tc := range []struct {
		name   string
		object apiserver.Object
		// steps after the object is made, with its UID.
		steps func(uid types.UID) []step
	}{
		{"ServiceCIDR", &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "memory"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24"}}}, serviceCIDRSteps},
		{"ClusterRole", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "memory"}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"memory": "true"}}}}}, clusterRoleSteps},
		{"Node", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "memory", Annotations: map[string]string{"other": "1"}}}, nodeSteps},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "memory"},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "memory"}}}}, budgetSteps},
		{"Pod", podOfTwoManagers(ns), podSteps},
		{"ResourceClaim", &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "memory"}}, claimSteps},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resource := apiserver.ResourceOf(tc.object)
			real := func() apiserver.Object {
				o, err := w.send(t.Context(), purekube.Request{Verb: "get", Resource: resource, Namespace: tc.object.GetNamespace(), Name: tc.object.GetName()})
				if apierrors.IsNotFound(err) {
					return nil
				}
				require.NoError(t, err)
				return o.(apiserver.Object)
			}
			create := func() apiserver.Object {
				o, err := w.send(t.Context(), purekube.Request{Verb: "create", Resource: resource, Namespace: tc.object.GetNamespace(), Object: tc.object})
				require.NoError(t, err)
				return o.(apiserver.Object)
			}
			firstReal := create()
			// Both begin with the same object. Versions of the memory are numbers that the real server does not come to.
			memory := apiserver.Restore(1_000_000_000, 0, apiserver.Stored{Object: firstReal})
			held := func() apiserver.Object {
				for _, o := range memory.All() {
					if o.GetName() == tc.object.GetName() {
						return o
					}
				}
				return nil
			}
			memory.Now = time.Now()
			firstHeld := held()
			for _, s := range tc.steps(firstReal.GetUID()) {
				if s.again {
					if o := real(); o != nil {
						_, err := w.send(t.Context(), purekube.Request{Verb: "patch", Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(),
							PatchType: types.MergePatchType, Patch: []byte(`{"metadata":{"finalizers":null}}`)})
						require.NoError(t, err)
						_, err = w.send(t.Context(), purekube.Request{Verb: "delete", Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()})
						require.NoError(t, err)
						memory.Remove(o)
					}
					memory.Put(create())
				}
				realBefore, heldBefore := real(), held()
				realAnswer, realErr := w.send(t.Context(), s.request(realBefore, firstReal))
				heldAnswer, heldErr := memory.Do(s.request(heldBefore, firstHeld))
				require.Equal(t, s.code, code(realErr), "%s: the real server answers %v", s.name, realErr)
				require.Equal(t, code(realErr), code(heldErr), "%s: the real server answers %v, the memory %v", s.name, realErr, heldErr)
				require.Equal(t, apierrors.ReasonForError(realErr), apierrors.ReasonForError(heldErr), "%s: the real server answers %v, the memory %v", s.name, realErr, heldErr)
				if s.unchanged != "" && s.unchanged == cluster.Release() {
					require.Equal(t, told(t, realBefore), told(t, real()), s.name)
					require.NotEqual(t, told(t, heldBefore), told(t, held()), s.name)
					break
				}
				// Some kinds answer a deletion with a Status, others with the object.
				_, isStatus := realAnswer.(*metav1.Status)
				if diff := cmp.Diff(told(t, realAnswer), told(t, heldAnswer)); realErr == nil && !isStatus && diff != "" {
					t.Fatalf("%s: what the servers return differs (-real +memory):\n%s", s.name, diff)
				}
				realAfter, heldAfter := real(), held()
				if diff := cmp.Diff(told(t, realAfter), told(t, heldAfter)); diff != "" {
					t.Fatalf("%s: what the servers hold differs (-real +memory):\n%s", s.name, diff)
				}
				require.Equal(t, changed(realBefore, realAfter), changed(heldBefore, heldAfter), "%s: a new resourceVersion", s.name)
			}
		})
	}
}

// changed reports whether an object has another version.
func changed(before, after apiserver.Object) bool {
	if before == nil || after == nil {
		return before != after
	}
	return before.GetResourceVersion() != after.GetResourceVersion()
}

func code(err error) int {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &status):
		return int(status.Status().Code)
	}
	return 0
}

// told is what an object says, without what each server makes up.
func told(t *testing.T, o runtime.Object) map[string]any {
	t.Helper()
	if o == nil || o == apiserver.Object(nil) {
		return nil
	}
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	delete(fields, "apiVersion")
	delete(fields, "kind")
	metadata := fields["metadata"].(map[string]any)
	if _, there := metadata["deletionTimestamp"]; there {
		metadata["deletionTimestamp"] = "set"
	}
	if _, there := metadata["generateName"]; there {
		metadata["name"], metadata["uid"] = "made up", "made up"
	}
	for _, made := range []string{"resourceVersion", "creationTimestamp", "managedFields", "generation", "deletionGracePeriodSeconds"} {
		delete(metadata, made)
	}
	if status, _ := fields["status"].(map[string]any); len(status) == 0 {
		delete(fields, "status")
	}
	if rules, _ := fields["rules"].([]any); len(rules) == 0 {
		delete(fields, "rules")
	}
	return fields
}

func serviceCIDRSteps(uid types.UID) []step {
	condition := func(status metav1.ConditionStatus, uid types.UID) func(now, first apiserver.Object) purekube.Request {
		return sends(servicecidr.SetCondition{Name: "memory", UID: uid, Condition: metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: status,
			Reason: "Because", Message: "of this", LastTransitionTime: metav1.Now().Rfc3339Copy()}})
	}
	return []step{
		{name: "finalizer", request: sends(servicecidr.AddFinalizer{Name: "memory", UID: uid}), code: 200},
		{name: "finalizer again", request: sends(servicecidr.AddFinalizer{Name: "memory", UID: uid}), code: 200},
		{name: "condition", request: condition(metav1.ConditionTrue, uid), code: 200},
		{name: "condition of another one", request: condition(metav1.ConditionFalse, "other"), code: 422},
		{name: "another manager's condition", request: func(now, _ apiserver.Object) purekube.Request {
			c := now.(*networkingv1.ServiceCIDR)
			apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Because"})
			return purekube.Request{Verb: "update", Resource: apiserver.ResourceOf(now), Subresource: "status", Name: "memory", Object: c}
		}, code: 200},
		{name: "condition changes, and the other manager's stays", request: condition(metav1.ConditionFalse, uid), code: 200},
		{name: "condition without a UID", request: condition(metav1.ConditionTrue, ""), code: 200},
		{name: "deletion waits for the finalizer", request: func(now, _ apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Name: "memory"}
		}, code: 200},
		{name: "condition while it is being deleted", request: condition(metav1.ConditionFalse, uid), code: 200},
		{name: "finalizer of another one goes", request: sends(servicecidr.RemoveFinalizer{Name: "memory", UID: "other"}), code: 422},
		{name: "finalizer goes, and with it the ServiceCIDR", request: sends(servicecidr.RemoveFinalizer{Name: "memory", UID: uid}), code: 200},
		{name: "finalizer of what is gone", request: sends(servicecidr.AddFinalizer{Name: "memory", UID: uid}), code: 404},
		{name: "finalizer goes from what is gone", request: sends(servicecidr.RemoveFinalizer{Name: "memory", UID: uid}), code: 404},
		{name: "condition of what is gone", request: condition(metav1.ConditionFalse, uid), code: 404},
		{name: "finalizer of one made again", again: true, request: sends(servicecidr.AddFinalizer{Name: "memory", UID: uid}), code: 200},
		{name: "condition of one made again", request: condition(metav1.ConditionTrue, uid), code: 422},
	}
}

func clusterRoleSteps(uid types.UID) []step {
	rule := func(verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}
	}
	rules := func(uid types.UID, rules ...rbacv1.PolicyRule) func(now, first apiserver.Object) purekube.Request {
		return sends(rbacaggregate.SetRules{Name: "memory", UID: uid, Rules: rules})
	}
	return []step{
		{name: "rules", request: rules(uid, rule("get"), rule("list")), code: 200},
		{name: "rules again", request: rules(uid, rule("get"), rule("list")), code: 200},
		{name: "other rules", request: rules(uid, rule("watch")), code: 200},
		{name: "rules of another one", request: rules("other", rule("get")), code: 422},
		{name: "none", request: sends(rbacaggregate.SetRules{Name: "memory", UID: uid, Rules: []rbacv1.PolicyRule{}}), code: 200},
		{name: "one", request: rules(uid, rule("get")), code: 200},
		{name: "no mention of rules takes back its own", request: sends(rbacaggregate.SetRules{Name: "memory"}), code: 200},
		{name: "rules written by hand", request: func(now, _ apiserver.Object) purekube.Request {
			role := now.(*rbacv1.ClusterRole)
			role.Rules = []rbacv1.PolicyRule{rule("create")}
			return purekube.Request{Verb: "update", Resource: apiserver.ResourceOf(now), Name: "memory", Object: role}
		}, code: 200},
		{name: "no mention of rules leaves those written by hand", request: sends(rbacaggregate.SetRules{Name: "memory"}), code: 200},
		{name: "rules over those written by hand", request: rules(uid, rule("get")), code: 200},
		{name: "update of an old version", request: func(_, first apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "update", Resource: apiserver.ResourceOf(first), Name: "memory", Object: first}
		}, code: 409},
		{name: "rules of one made again", again: true, request: rules(uid, rule("get")), code: 422},
		{name: "deleted", request: func(now, _ apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Name: "memory", Preconditions: &metav1.Preconditions{UID: ptr.To(now.GetUID())}}
		}, code: 200},
		{name: "rules of what is gone", request: rules(uid, rule("get")), code: 409},
	}
}

func nodeSteps(types.UID) []step {
	return []step{
		{name: "TTL", request: sends(ttl.SetTTL{Name: "memory", TTL: 15e9}), code: 200},
		{name: "TTL again", request: sends(ttl.SetTTL{Name: "memory", TTL: 15e9}), code: 200},
		{name: "another TTL", request: sends(ttl.SetTTL{Name: "memory", TTL: 0}), code: 200},
		{name: "TTL of one made again", again: true, request: sends(ttl.SetTTL{Name: "memory", TTL: 0}), code: 200},
		{name: "deleted", request: func(now, _ apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Name: "memory"}
		}, code: 200},
		{name: "TTL of what is gone", request: sends(ttl.SetTTL{Name: "memory", TTL: 0}), code: 404},
	}
}

func budgetSteps(types.UID) []step {
	status := func(now, from apiserver.Object, allowed int32) purekube.Request {
		b := from.DeepCopyObject().(*policyv1.PodDisruptionBudget)
		b.Status.DisruptionsAllowed, b.Status.ObservedGeneration = allowed, 1
		return disruption.UpdateStatus{Budget: b}.Request(nil)
	}
	now := func(now, _ apiserver.Object) purekube.Request { return status(now, now, 2) }
	first := func(now, first apiserver.Object) purekube.Request { return status(now, first, 3) }
	return []step{
		{name: "status", request: now, code: 200},
		{name: "status again", request: now, code: 200},
		{name: "status of an old version", request: first, code: 409},
		{name: "status of one made again", again: true, request: first, code: 409},
		{name: "deleted by another UID", request: func(now, first apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Namespace: now.GetNamespace(), Name: "memory", Preconditions: &metav1.Preconditions{UID: ptr.To(first.GetUID())}}
		}, code: 409},
		{name: "deleted by an old version", request: func(now, first apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Namespace: now.GetNamespace(), Name: "memory", Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To(first.GetResourceVersion())}}
		}, code: 409},
		{name: "deleted", request: func(now, _ apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(now), Namespace: now.GetNamespace(), Name: "memory",
				Preconditions: &metav1.Preconditions{UID: ptr.To(now.GetUID()), ResourceVersion: ptr.To(now.GetResourceVersion())}}
		}, code: 200},
		{name: "status of what is gone", request: first, code: 404},
		{name: "deleted again", request: func(_, first apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "delete", Resource: apiserver.ResourceOf(first), Namespace: first.GetNamespace(), Name: "memory"}
		}, code: 404},
	}
}

// podOfTwoManagers has entries for two managers' names. The API server makes statuses for no other ones.
func podOfTwoManagers(ns string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "memory"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	for _, name := range []string{"a", "b", "c"} {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: ptr.To("gpu")})
	}
	return p
}

func podSteps(uid types.UID) []step {
	statuses := func(manager string, uid types.UID, names ...string) func(now, first apiserver.Object) purekube.Request {
		return func(_, first apiserver.Object) purekube.Request {
			a := resourceclaim.SetClaimStatuses{Kind: "Pod", Namespace: first.GetNamespace(), Name: "memory", UID: uid}
			for i := 0; i < len(names); i += 2 {
				st := corev1.PodResourceClaimStatus{Name: names[i]}
				if names[i+1] != "" {
					st.ResourceClaimName = ptr.To(names[i+1])
				}
				a.Statuses = append(a.Statuses, st)
			}
			r := a.Request(nil)
			if manager != "" {
				r.FieldManager = manager
			}
			return r
		}
	}
	return []step{
		{name: "two names", request: statuses("", uid, "a", "claim-a", "b", "claim-b"), code: 200},
		{name: "the same again", request: statuses("", uid, "a", "claim-a", "b", "claim-b"), code: 200},
		{name: "another manager's name", request: statuses("theirs", uid, "c", ""), code: 200},
		{name: "one left out goes, the other manager's stays", request: statuses("", uid, "b", "claim-2"), code: 200},
		{name: "both have it", request: statuses("", uid, "b", "claim-2", "c", ""), code: 200},
		{name: "one lets it go", request: statuses("theirs", uid), code: 200},
		{name: "the last one lets it go", request: statuses("", uid, "b", "claim-2"), code: 200},
		{name: "with a status, an apply says nothing of the spec", request: func(now, first apiserver.Object) purekube.Request {
			r := statuses("", uid, "a", "claim-a")(now, first)
			r.Patch = bytes.Replace(r.Patch, []byte(`"status":`), []byte(`"spec":{"activeDeadlineSeconds":60},"status":`), 1)
			return r
		}, code: 200},
		{name: "of another pod", request: statuses("", "other", "a", "claim-a"), code: 422},
		{name: "condition", request: func(now, _ apiserver.Object) purekube.Request {
			p := now.(*corev1.Pod)
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(1_000_000_000, 0)})
			return disruption.ClearDisruptionTarget{Pod: p}.Request(nil)
		}, code: 200},
		{name: "condition of an old version", request: func(_, first apiserver.Object) purekube.Request {
			return disruption.ClearDisruptionTarget{Pod: first.DeepCopyObject().(*corev1.Pod)}.Request(nil)
		}, code: 409},
		{name: "of a pod that came back", again: true, request: statuses("", uid, "a", "claim-a"), code: 422},
		{name: "whoever it is", request: statuses("", "", "a", "claim-a"), code: 200},
		// v1.37 takes a status without any name for the write of a client that does not know the field.
		{name: "no name is left", request: statuses("", ""), code: 200, unchanged: "v1.37"},
	}
}

func claimSteps(types.UID) []step {
	consumer := func(name string) resourcev1.ResourceClaimConsumerReference {
		return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)}
	}
	allocated := func(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		c = c.DeepCopy()
		c.Finalizers = []string{resourcev1.Finalizer}
		return c
	}
	reserved := func(name string) func(now, first apiserver.Object) purekube.Request {
		return func(now, _ apiserver.Object) purekube.Request {
			c := now.(*resourcev1.ResourceClaim)
			c.Status.ReservedFor = append(c.Status.ReservedFor, consumer(name))
			return resourceclaim.Reserve{Claim: c}.Request(nil)
		}
	}
	update := func(subresource string, edit func(c *resourcev1.ResourceClaim)) func(now, first apiserver.Object) purekube.Request {
		return func(now, _ apiserver.Object) purekube.Request {
			c := now.(*resourcev1.ResourceClaim).DeepCopy()
			edit(c)
			return purekube.Request{Verb: "update", Resource: apiserver.ResourceOf(now), Subresource: subresource, Namespace: c.Namespace, Name: c.Name, Object: c}
		}
	}
	return []step{
		{name: "finalizer", request: update("", func(c *resourcev1.ResourceClaim) { *c = *allocated(c) }), code: 200},
		{name: "allocation", request: update("status", func(c *resourcev1.ResourceClaim) { c.Status.Allocation = &resourcev1.AllocationResult{} }), code: 200},
		{name: "reserved", request: reserved("one"), code: 200},
		{name: "reserved for another pod", request: reserved("two"), code: 200},
		{name: "reserved from an old version", request: func(_, first apiserver.Object) purekube.Request {
			c := first.DeepCopyObject().(*resourcev1.ResourceClaim)
			c.Status.ReservedFor = append(c.Status.ReservedFor, consumer("three"))
			return resourceclaim.Reserve{Claim: c}.Request(nil)
		}, code: 409},
		{name: "one released", request: func(now, _ apiserver.Object) purekube.Request {
			c := now.(*resourcev1.ResourceClaim)
			c.Status.ReservedFor = c.Status.ReservedFor[:1]
			return resourceclaim.Release{Claim: c, Removed: []resourcev1.ResourceClaimConsumerReference{consumer("two")}}.Request(nil)
		}, code: 200},
		{name: "deleted by another UID", request: func(now, _ apiserver.Object) purekube.Request {
			return resourceclaim.DeleteClaim{Namespace: now.GetNamespace(), Name: now.GetName(), UID: "other"}.Request(nil)
		}, code: 409},
		{name: "deleted, and waits for its finalizer", request: func(now, _ apiserver.Object) purekube.Request {
			return resourceclaim.DeleteClaim{Namespace: now.GetNamespace(), Name: now.GetName(), UID: now.GetUID(), ResourceVersion: now.GetResourceVersion()}.Request(nil)
		}, code: 200},
		{name: "deleted again", request: func(now, _ apiserver.Object) purekube.Request {
			return resourceclaim.DeleteClaim{Namespace: now.GetNamespace(), Name: now.GetName(), UID: now.GetUID()}.Request(nil)
		}, code: 200},
		{name: "all released", request: func(now, _ apiserver.Object) purekube.Request {
			c := now.(*resourcev1.ResourceClaim)
			c.Status = resourcev1.ResourceClaimStatus{}
			return resourceclaim.Release{Claim: c, Deallocate: true, Removed: []resourcev1.ResourceClaimConsumerReference{consumer("one")}}.Request(nil)
		}, code: 200},
		{name: "finalizer from an old version", request: func(_, first apiserver.Object) purekube.Request {
			c := allocated(first.(*resourcev1.ResourceClaim))
			return resourceclaim.RemoveFinalizer{Claim: c}.Request(nil)
		}, code: 409},
		{name: "finalizer goes, and with it the claim", request: func(now, _ apiserver.Object) purekube.Request {
			c := now.(*resourcev1.ResourceClaim)
			return resourceclaim.RemoveFinalizer{Claim: c}.Request(nil)
		}, code: 200},
		{name: "what is gone is deleted", request: func(_, first apiserver.Object) purekube.Request {
			return resourceclaim.DeleteClaim{Namespace: first.GetNamespace(), Name: first.GetName(), UID: first.GetUID()}.Request(nil)
		}, code: 404},
		{name: "claim with a generated name", request: func(_, first apiserver.Object) purekube.Request {
			return resourceclaim.CreateClaim{Claim: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: first.GetNamespace(), GenerateName: "memory-a-",
				Annotations:     map[string]string{"resource.kubernetes.io/pod-claim-name": "a"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "memory", UID: "1", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}}}}.Request(nil)
		}, code: 200},
		{name: "claim of a name that is there", again: true, request: func(now, _ apiserver.Object) purekube.Request {
			return purekube.Request{Verb: "create", Resource: apiserver.ResourceOf(now), Namespace: now.GetNamespace(),
				Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: now.GetNamespace(), Name: "memory"}}}
		}, code: 409},
		{name: "update of a claim made again", request: func(now, first apiserver.Object) purekube.Request {
			c := first.DeepCopyObject().(*resourcev1.ResourceClaim)
			c.ResourceVersion = ""
			return purekube.Request{Verb: "update", Resource: apiserver.ResourceOf(now), Subresource: "status", Namespace: c.Namespace, Name: c.Name, Object: c}
		}, code: 409},
	}
}

// send makes the call to the real server, as admin.
func (w *world) send(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	methods := map[string]string{"get": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete}
	call := w.RESTClient().Verb(methods[r.Verb]).AbsPath(pathOf(r)).SetHeader("Accept", runtime.ContentTypeJSON).SetHeader("Content-Type", runtime.ContentTypeJSON)
	if r.FieldManager != "" {
		call.Param("fieldManager", r.FieldManager)
	}
	if r.Force {
		call.Param("force", "true")
	}
	switch {
	case r.Object != nil:
		o := r.Object.DeepCopyObject()
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil, err
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		call.Body(text)
	case r.Verb == "patch":
		call.SetHeader("Content-Type", string(r.PatchType)).Body(r.Patch)
	case r.Verb == "delete":
		text, err := json.Marshal(metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: r.Preconditions,
			GracePeriodSeconds: ptr.To[int64](0)})
		if err != nil {
			return nil, err
		}
		call.Body(text)
	}
	answer := call.Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	text, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	return o, err
}

func pathOf(r purekube.Request) string {
	root := path.Join("/apis", r.Resource.Group, r.Resource.Version)
	if r.Resource.Group == "" {
		root = path.Join("/api", r.Resource.Version)
	}
	if r.Namespace != "" {
		root = path.Join(root, "namespaces", r.Namespace)
	}
	return path.Join(root, r.Resource.Resource, r.Name, r.Subresource)
}
