package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// ResourceClaim stories: BR-30-01 … BR-30-09.
func init() {
	stories["claim from its pod's start to its end"] = lifeOfAClaim
	stories["claim deleted by hand"] = claimDeletedByHand
	stories["claim and a quota"] = claimAndAQuota
	stories["claim shared by two pods"] = claimOfTwoPods
}

// A pod gets its claim and its status; the claim is reserved once the pod has a node, and
// released, deallocated and deleted when the pod is done.
func lifeOfAClaim(t *testing.T, w *world) {
	ns := w.namespace(t, "life")
	w.createTemplate(t, ns, "gpu")
	w.createPodWithClaims(t, ns, "train", "gpu")
	w.disturb()
	name := w.claimsOf(t, ns, "train", "gpu")[0]
	w.allocate(t, ns, name)
	require.NoError(t, w.CoreV1().Pods(ns).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "train"}, Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}}, metav1.CreateOptions{}))
	w.disturb()
	eventually(t, patience, "reserved", w.reservedFor(ns, name, "train"))
	w.changeStatus(t, ns, "train", func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded })
	w.disturb()
	eventually(t, patience, "released and deleted", func(ctx context.Context) error {
		_, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, name, metav1.GetOptions{})
		return missing(err)
	})
	throughout(t, 2*time.Second, "a pod that is done gets no other claim (D-7)", w.countClaims(ns, 0))
}

// Of two claims one is deleted: another is created in its place, and at no time does the pod's status lose
// the entry of the other claim (D-5).
func claimDeletedByHand(t *testing.T, w *world) {
	ns := w.namespace(t, "byhand")
	w.createTemplate(t, ns, "gpu")
	w.createTemplate(t, ns, "nic")
	w.createPodWithClaims(t, ns, "train", "gpu", "nic")
	w.disturb()
	before := w.claimsOf(t, ns, "train", "gpu", "nic")

	watching, err := w.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=train"})
	require.NoError(t, err)
	defer watching.Stop()
	require.NoError(t, w.ResourceV1().ResourceClaims(ns).Delete(t.Context(), before[0], metav1.DeleteOptions{}))
	w.disturb()
	eventually(t, patience, "another claim", func(ctx context.Context) error {
		after, err := w.claimNames(ctx, ns, "train", "gpu", "nic")
		if err == nil && after[0] == before[0] {
			err = errors.New("still the claim that is gone")
		}
		return err
	})
	throughout(t, 3*time.Second, "two claims, no more", w.countClaims(ns, 2))
	after := w.claimsOf(t, ns, "train", "gpu", "nic")
	require.Equal(t, before[1], after[1])
	changes := map[string]bool{}
	for {
		select {
		case e := <-watching.ResultChan():
			statuses := e.Object.(*corev1.Pod).Status.ResourceClaimStatuses
			names := map[string]string{}
			for _, st := range statuses {
				names[st.Name] = *st.ResourceClaimName
			}
			require.Equal(t, before[1], names["entry-1"], "the entry whose claim exists was lost on the way")
			// After a create that the API server refused, the other entry is missing until the next plan.
			if name, named := names["entry-0"]; named {
				changes[name] = true
			}
			continue
		default:
		}
		break
	}
	require.LessOrEqual(t, len(changes), 2, "the entry changed from the first to the second name, and never back: %v", changes)
}

// A quota refuses one of two claims. The other is named in the status all the same, an event says what is
// wrong, and the one that is missing comes once the quota allows it.
func claimAndAQuota(t *testing.T, w *world) {
	ns := w.namespace(t, "quota")
	const counted = "count/resourceclaims.resource.k8s.io"
	limit := func(n string) corev1.ResourceList {
		return corev1.ResourceList{counted: resource.MustParse(n)}
	}
	quota, err := w.CoreV1().ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Spec: corev1.ResourceQuotaSpec{Hard: limit("1")}}, metav1.CreateOptions{})
	require.NoError(t, err)
	quota.Status = corev1.ResourceQuotaStatus{Hard: limit("1"), Used: limit("0")} // no controller does that here
	_, err = w.CoreV1().ResourceQuotas(ns).UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	require.NoError(t, err)
	// The quota's controller counts from time to time: a create that was cut off counts until then.
	recount := func(ctx context.Context, hard string) error {
		quota, err := w.CoreV1().ResourceQuotas(ns).Get(ctx, "claims", metav1.GetOptions{})
		if err != nil {
			return err
		}
		claims, err := w.ResourceV1().ResourceClaims(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		quota.Status = corev1.ResourceQuotaStatus{Hard: limit(hard), Used: limit(fmt.Sprint(len(claims.Items)))}
		_, err = w.CoreV1().ResourceQuotas(ns).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
		return err
	}
	w.createTemplate(t, ns, "gpu")
	w.createPodWithClaims(t, ns, "train", "gpu", "gpu")
	w.disturb()
	oneIsNamed := func(ctx context.Context) error {
		pod, err := w.CoreV1().Pods(ns).Get(ctx, "train", metav1.GetOptions{})
		if err != nil {
			return err
		}
		statuses := pod.Status.ResourceClaimStatuses
		if len(statuses) != 1 || statuses[0].ResourceClaimName == nil {
			return fmt.Errorf("the status has %v", statuses)
		}
		_, err = w.ResourceV1().ResourceClaims(ns).Get(ctx, *statuses[0].ResourceClaimName, metav1.GetOptions{})
		return err
	}
	lastCount := time.Now()
	eventually(t, patience, "one claim is named", func(ctx context.Context) error {
		err := oneIsNamed(ctx)
		if err != nil && time.Since(lastCount) > 5*time.Second { // no create is under way for that long
			lastCount = time.Now()
			err = errors.Join(err, recount(ctx, "1"))
		}
		return err
	})
	eventually(t, patience, "an event", func(ctx context.Context) error {
		events, err := w.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=train"})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			// events.k8s.io keeps one event for all of this reason, with the message of the first one.
			if e.Reason == "FailedResourceClaimCreation" && (strings.Contains(e.Message, "exceeded quota") || e.Series != nil) {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
	throughout(t, time.Second, "one claim", w.countClaims(ns, 1))
	eventually(t, patience, "the quota is raised", func(ctx context.Context) error { return recount(ctx, "2") })
	w.disturb()
	eventually(t, patience, "both claims", func(ctx context.Context) error {
		_, err := w.claimNames(ctx, ns, "train", "gpu", "gpu")
		if err != nil {
			err = errors.Join(err, recount(ctx, "2"))
		}
		return err
	})
	throughout(t, time.Second, "two claims", w.countClaims(ns, 2))
}

// A claim that users made is reserved for each of its pods, and loses its allocation with the last, but is not deleted. Its
// users can delete it then.
func claimOfTwoPods(t *testing.T, w *world) {
	ns := w.namespace(t, "shared")
	_, err := w.ResourceV1().ResourceClaims(ns).Create(t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: claimSpec()}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.allocate(t, ns, "gpu")
	for _, pod := range []string{"a", "b"} {
		_, err := w.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pod},
			Spec: corev1.PodSpec{
				NodeName: "somewhere", Containers: []corev1.Container{{Name: "c", Image: "image"}},
				ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w.disturb()
	eventually(t, patience, "reserved for both", w.reservedFor(ns, "gpu", "a", "b"))
	w.removePod(t, ns, "a") // deleted at once: the pod is nowhere any more
	w.disturb()
	eventually(t, patience, "reserved for the other", w.reservedFor(ns, "gpu", "b"))
	w.changeStatus(t, ns, "b", func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	w.disturb()
	eventually(t, patience, "deallocated", w.deallocated(ns, "gpu"))
	// Where the finalizer could not be removed with the allocation, that is done when the claim is deleted, as in
	// Kubernetes.
	w.disturb()
	require.NoError(t, w.ResourceV1().ResourceClaims(ns).Delete(t.Context(), "gpu", metav1.DeleteOptions{}))
	eventually(t, patience, "gone", func(ctx context.Context) error {
		_, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, "gpu", metav1.GetOptions{})
		return missing(err)
	})
}

func claimSpec() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "class"}}}}}
}

func (w *world) createTemplate(t *testing.T, ns, name string) {
	t.Helper()
	_, err := w.ResourceV1().ResourceClaimTemplates(ns).Create(t.Context(), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claimSpec()}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// createPodWithClaims makes a pod without a node, with an entry for each template.
func (w *world) createPodWithClaims(t *testing.T, ns, name string, templates ...string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}}}
	for i, template := range templates {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint("entry-", i), ResourceClaimTemplateName: ptr.To(template)})
	}
	_, err := w.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// claimNames are the names in the pod's status, one for each entry of a template; each is a claim of the pod.
func (w *world) claimNames(ctx context.Context, ns, pod string, templates ...string) ([]string, error) {
	p, err := w.CoreV1().Pods(ns).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := expect("number of entries", len(templates), len(p.Status.ResourceClaimStatuses)); err != nil {
		return nil, err
	}
	names := make([]string, len(templates))
	for i := range templates {
		for _, s := range p.Status.ResourceClaimStatuses {
			if s.Name == fmt.Sprint("entry-", i) && s.ResourceClaimName != nil {
				names[i] = *s.ResourceClaimName
			}
		}
		claim, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, names[i], metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if !metav1.IsControlledBy(claim, p) {
			return nil, fmt.Errorf("claim %s is not the pod's", names[i])
		}
	}
	return names, nil
}

func (w *world) claimsOf(t *testing.T, ns, pod string, templates ...string) (names []string) {
	t.Helper()
	eventually(t, patience, "pod "+pod+" has its claims", func(ctx context.Context) (err error) {
		names, err = w.claimNames(ctx, ns, pod, templates...)
		return err
	})
	throughout(t, time.Second, "a claim for each entry", w.countClaims(ns, len(templates)))
	return names
}

func (w *world) countClaims(ns string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		claims, err := w.ResourceV1().ResourceClaims(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return expect("number of claims", want, len(claims.Items))
	}
}

// allocate does what the scheduler does to a claim before it reserves it.
func (w *world) allocate(t *testing.T, ns, name string) {
	t.Helper()
	c, err := w.ResourceV1().ResourceClaims(ns).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	w.allocateAs(t, c)
}

// allocateAs allocates the claim and writes its status as it is here.
func (w *world) allocateAs(t *testing.T, as *resourcev1.ResourceClaim) {
	t.Helper()
	claims := w.ResourceV1().ResourceClaims(as.Namespace)
	c, err := claims.Patch(t.Context(), as.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+resourcev1.Finalizer+`"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.Status = as.Status
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: "example.com", Pool: "pool", Device: "device"}}}}
	_, err = claims.UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (w *world) deallocated(ns, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return errors.Join(expect("reserved", 0, len(c.Status.ReservedFor)), expect("allocated", false, c.Status.Allocation != nil))
	}
}

func (w *world) reservedFor(ns, name string, pods ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got := map[string]bool{}
		for _, r := range c.Status.ReservedFor {
			got[r.Name] = true
		}
		for _, p := range pods {
			if !got[p] {
				return fmt.Errorf("not reserved for %s: %v", p, c.Status.ReservedFor)
			}
		}
		return expect("number of consumers", len(pods), len(c.Status.ReservedFor))
	}
}
