package clientgo_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
)

// grouped are options for pods whose label says which PodGroup they are in. No request may fail.
func grouped(t *testing.T, version string) clientgo.SetOptions {
	t.Helper()
	return clientgo.SetOptions{
		Controllers: []string{"resourceclaim"}, PodGroups: version,
		PackageOptions: clientgo.PackageOptions{
			ResourceClaim: resourceclaim.Options{PodGroupOf: func(p *corev1.Pod) string { return p.Labels["group"] }}},
		Hooks: clientgo.Hooks{OnAction: func(r clientgo.ActionResult) {
			if r.Err != nil {
				t.Errorf("%v: %v", r.Action, r.Err)
			}
		}},
	}
}

// The pods of a PodGroup share one claim, which the PodGroup and each pod name in their status.
func TestPodsOfAPodGroupShareAClaim(t *testing.T) {
	entry := corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpus")}
	objects := []apiserver.Object{
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpus"}},
		&apiserver.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "group"},
			Spec: apiserver.PodGroupSpec{ResourceClaims: []corev1.PodResourceClaim{entry}}},
	}
	for _, name := range []string{"ml/train-0", "ml/train-1"} {
		pod := purekubetest.Pod(name)
		pod.Labels = map[string]string{"group": "train"}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{entry}
		objects = append(objects, pod)
	}
	s := serveObjects(t, nil, objects...)
	s.runSet(t, grouped(t, "v1beta1"), func() bool { return s.times("patch pods/status") >= 2 && s.times("patch podgroups/status") >= 1 })
	require.Equal(t, 1, s.times("create resourceclaims"), s.asked)
	require.Equal(t, 2, s.times("patch pods/status"), s.asked)
	require.Equal(t, 1, s.times("patch podgroups/status"), "its answer is of a kind that client-go does not have: %v", s.asked)
	listener := httptest.NewServer(&s.Handler)
	defer listener.Close()
	exec, err := clientgo.NewExecutor(&rest.Config{Host: listener.URL})
	require.NoError(t, err)
	var names []string
	for _, name := range []string{"train-0", "train-1"} {
		pod, err := exec.Get(t.Context(), corev1.SchemeGroupVersion.WithResource("pods"), "", "ml", name)
		require.NoError(t, err)
		statuses := pod.(*corev1.Pod).Status.ResourceClaimStatuses
		require.Len(t, statuses, 1)
		names = append(names, *statuses[0].ResourceClaimName)
	}
	require.Equal(t, names[0], names[1])
	claim, err := exec.Get(t.Context(), resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), "", "ml", names[0])
	require.NoError(t, err)
	owner := metav1.GetControllerOf(claim.(*resourcev1.ResourceClaim))
	require.Equal(t, "PodGroup", owner.Kind)
	require.EqualValues(t, "group", owner.UID)
}

// A claim that is reserved for a PodGroup is released when the API server says that there is no such PodGroup.
func TestClaimOfAPodGroupThatIsGone(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "shared", Finalizers: []string{resourcev1.Finalizer}}}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "train", UID: "group"}}
	s := serveObjects(t, nil, claim)
	s.runSet(t, grouped(t, "v1beta1"), func() bool { return s.times("patch resourceclaims/status") > 0 })
	require.Equal(t, 1, s.times("get podgroups"))
}

// An API server that does not serve the version answers 404 as well. That is no answer to the question whether the object
// is there.
func TestNotFoundThatIsNotAboutTheObject(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	lookup, err := clientgo.NewLookup(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	for _, n := range []purekube.Need{
		{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Namespace: "ml", Name: "train"},
		{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim", Namespace: "ml", Name: "gpu"},
	} {
		_, err := lookup.Lookup(context.Background(), n)
		require.Error(t, err, "%v", n)
	}
}

// A PodGroup that cannot be read gets nothing, and nor do its pods.
func TestPodGroupThatCannotBeRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"train"},"spec":{"resourceClaims":7}}`))
	}))
	defer s.Close()
	lookup, err := clientgo.NewLookup(&rest.Config{Host: s.URL})
	require.NoError(t, err)
	_, err = lookup.Lookup(t.Context(), purekube.Need{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Namespace: "ml", Name: "train"})
	require.ErrorContains(t, err, "train")
}
