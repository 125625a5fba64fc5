package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/controllerruntime"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/resourceclaim"
)

// podGroupVersion is the version of PodGroups that the API server has: no version is in two minor releases. "" is none.
func podGroupVersion() string {
	switch cluster.Release() {
	case "v1.35":
		return ""
	case "v1.37":
		return "v1beta1"
	}
	return "v1alpha2"
}

// inGroups are options for pods that name their PodGroup, which only clients of v1.36 and later know.
var inGroups = resourceclaim.Options{PodGroupOf: func(p *corev1.Pod) string {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}}

// A PodGroup gets one claim, which it and its pods name in their status. The claim is reserved for the PodGroup once one of its
// pods has a node, and loses its allocation when the PodGroup is gone. The programs of examples have no option for that, so the
// modules run in this process, with the rights of examples/manager and those that clientgo.PodGroups names.
func TestPodGroup(t *testing.T) {
	t.Parallel()
	if podGroupVersion() == "" {
		t.Skip("this release has no PodGroups")
	}
	o := clientgo.SetOptions{
		Controllers: []string{"resourceclaim"}, PodGroups: podGroupVersion(),
		PackageOptions: clientgo.PackageOptions{ResourceClaim: inGroups},
	}
	for name, run := range map[string]func(*testing.T, context.Context, *rest.Config) error{
		clientGo.name: func(_ *testing.T, ctx context.Context, config *rest.Config) error {
			return clientgo.New(config, o).Run(ctx)
		},
		controllerRuntime.name: func(t *testing.T, ctx context.Context, config *rest.Config) error {
			mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
			require.NoError(t, err)
			require.NoError(t, controllerruntime.Add(mgr, o))
			return mgr.Start(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "--runtime-config=scheduling.k8s.io/"+podGroupVersion()+"=true",
				"--feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true")
			w.letReadPodGroups(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- run(t, ctx, w.Config(cluster.Manager)) }()
			defer func() {
				cancel()
				require.NoError(t, <-ended)
			}()
			claimOfAPodGroup(t, w)
		})
	}
}

func claimOfAPodGroup(t *testing.T, w *world) {
	ns := w.namespace(t, "group")
	w.createTemplate(t, ns, "gpu")
	all, err := dynamic.NewForConfig(w.Config(cluster.Admin))
	require.NoError(t, err)
	resource := clientgo.PodGroupsOf(podGroupVersion())
	groups := all.Resource(resource).Namespace(ns)
	group, err := groups.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(),
		"kind":       "PodGroup",
		"metadata":   map[string]any{"name": "train"},
		"spec": map[string]any{
			"schedulingPolicy": map[string]any{"basic": map[string]any{}},
			"resourceClaims":   []any{map[string]any{"name": "gpu", "resourceClaimTemplateName": "gpu"}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	kept, _, err := unstructured.NestedSlice(group.Object, "spec", "resourceClaims")
	require.NoError(t, err)
	require.Len(t, kept, 1, "the API server keeps what the feature gate allows")
	pods := []string{"train-0", "train-1"}
	for _, name := range pods {
		_, err := w.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			Containers:      []corev1.Container{{Name: "c", Image: "image"}},
			SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: ptr.To("train")},
			ResourceClaims:  []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	var claim *resourcev1.ResourceClaim
	eventually(t, patience, "the PodGroup and its pods name one claim", func(ctx context.Context) error {
		g, err := groups.Get(ctx, "train", metav1.GetOptions{})
		if err != nil {
			return err
		}
		statuses, _, err := unstructured.NestedSlice(g.Object, "status", "resourceClaimStatuses")
		if err != nil || len(statuses) != 1 {
			return fmt.Errorf("the status of the PodGroup has %v", g.Object["status"])
		}
		name, _, err := unstructured.NestedString(statuses[0].(map[string]any), "resourceClaimName")
		if err != nil || name == "" {
			return fmt.Errorf("the status of the PodGroup has %v", statuses)
		}
		for _, pod := range pods {
			p, err := w.CoreV1().Pods(ns).Get(ctx, pod, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if s := p.Status.ResourceClaimStatuses; len(s) != 1 || s[0].ResourceClaimName == nil || *s[0].ResourceClaimName != name {
				return fmt.Errorf("the status of %s has %v", pod, s)
			}
		}
		claim, err = w.ResourceV1().ResourceClaims(ns).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	throughout(t, time.Second, "one claim for all", w.countClaims(ns, 1))
	require.True(t, metav1.IsControlledBy(claim, group), "the claim is the PodGroup's: %v", claim.OwnerReferences)

	w.allocate(t, ns, claim.Name)
	require.NoError(t, w.CoreV1().Pods(ns).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pods[0]}, Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}}, metav1.CreateOptions{}))
	eventually(t, patience, "reserved for the PodGroup", w.reservedFor(ns, claim.Name, "train"))

	for _, pod := range pods {
		w.changeStatus(t, ns, pod, func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded })
	}
	throughout(t, 2*time.Second, "reserved while the PodGroup is there", w.reservedFor(ns, claim.Name, "train"))
	require.NoError(t, groups.Delete(t.Context(), "train", metav1.DeleteOptions{}))
	// kube-controller-manager removes the finalizer that protects the PodGroup when its pods are done.
	_, err = groups.Patch(t.Context(), "train", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, client.IgnoreNotFound(err))
	eventually(t, patience, "released", w.deallocated(ns, claim.Name))
}

// letReadPodGroups gives the manager's account the rights that clientgo.PodGroups names.
func (w *world) letReadPodGroups(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "podgroups"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"podgroups"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"podgroups/status"}, Verbs: []string{"patch"}},
	}}
	_, err := w.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = w.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "podgroups"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "podgroups"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: cluster.Manager}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
