package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

var soakFor = flag.Duration("soak", 5*time.Minute, "how long the soak test writes, with -long")

// writesPerSecond is the rate of the soak test.
const writesPerSecond = 50

// Random creates, updates and deletes of all kinds, 50 a second, to a cluster of each module and to one of
// kube-controller-manager at the same time. Afterwards, planning everything yields nothing in the clusters of the modules.
func TestSoak(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: -long")
	}
	type side struct {
		*world
		name string
		*manager
	}
	var sides []side
	for _, of := range modules {
		w := newWorld(t)
		sides = append(sides, side{w, of.name, w.start(t, of, of.name, w.Endpoint(), of.alone...)})
	}
	theirs := newWorld(t)
	sides = append(sides, side{theirs, "kube-controller-manager", theirs.startUpstream(t, theirs.Endpoint(), "--kube-api-qps=50", "--kube-api-burst=100")})
	seed := seed.First(t, 1)
	var writing sync.WaitGroup
	for _, s := range sides {
		s.namespace(t, "soak")
		s.createTemplate(t, "soak", "gpu")
		writing.Go(func() { newSoak(t, s.world, seed).write(*soakFor) })
	}
	ticker := time.NewTicker(*soakFor / 5)
	defer ticker.Stop()
	for n := range 5 {
		<-ticker.C
		for _, s := range sides {
			t.Logf("after %s: %s: %s", *soakFor/5*time.Duration(n+1), s.name, s.usage(t))
		}
	}
	writing.Wait()
	for _, s := range sides {
		if s.world != theirs {
			s.still(t, idle)
			s.planIsEmpty(t)
		}
		page, err := s.get("/metrics")
		require.NoError(t, err)
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "purekube_actions_total") || strings.HasPrefix(line, "rest_client_requests_total") {
				t.Log(s.name, strings.TrimSpace(line))
			}
		}
		s.stop(t)
	}
}

// soak writes at random.
type soak struct {
	t      *testing.T
	w      *world
	random *rand.Rand
	owner  metav1.OwnerReference
	failed map[string]int
	done   map[string]int
}

func newSoak(t *testing.T, w *world, seed uint64) *soak {
	t.Helper()
	s := &soak{t: t, w: w, random: rand.New(rand.NewPCG(seed, 0)), failed: map[string]int{}, done: map[string]int{}}
	s.owner = w.createReplicaSet(t, "soak", "web", 40)
	w.createRole(t, "soak-all", nil, labelled("soak"))
	return s
}

func (s *soak) write(long time.Duration) {
	tick := time.NewTicker(time.Second / writesPerSecond)
	defer tick.Stop()
	for end := time.Now().Add(long); time.Now().Before(end); <-tick.C {
		what, err := s.one(s.t.Context())
		switch {
		case err == nil:
			s.done[what]++
		case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsInvalid(err), apierrors.IsTooManyRequests(err):
			s.failed[what]++ // the object is not there, or is there, or may not go
		default:
			s.t.Errorf("%s: %v", what, err)
			return
		}
	}
	s.t.Logf("written: %v; refused: %v", s.done, s.failed)
}

// one makes one write. Names are few, so that objects come and go.
func (s *soak) one(ctx context.Context) (what string, err error) {
	n := s.random.IntN(20)
	pods, roles, nodes := s.w.CoreV1().Pods("soak"), s.w.RbacV1().ClusterRoles(), s.w.CoreV1().Nodes()
	budgets, cidrs, services, claims := s.w.PolicyV1().PodDisruptionBudgets("soak"), s.w.NetworkingV1().ServiceCIDRs(), s.w.CoreV1().Services("soak"), s.w.ResourceV1().ResourceClaims("soak")
	web, claimed, role, node, cidr := fmt.Sprint("web-", n), fmt.Sprint("claimed-", n), fmt.Sprint("soak-", n), nodeName(s.random.IntN(120)), fmt.Sprint("soak-", n%5)
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	patch := func(body string) (types.PatchType, []byte, metav1.PatchOptions) {
		return types.MergePatchType, []byte(body), metav1.PatchOptions{}
	}
	switch s.random.IntN(18) {
	case 0, 1:
		_, err = pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: web, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{s.owner}},
			Spec: corev1.PodSpec{NodeName: "somewhere", Containers: []corev1.Container{{Name: "c", Image: "image"}}}}, metav1.CreateOptions{})
		return "create pod", err
	case 2, 3, 4:
		return "readiness of a pod", s.w.ready(ctx, "soak", web, s.random.IntN(4) > 0)
	case 5:
		return "delete pod", pods.Delete(ctx, web, now)
	case 6:
		return "evict pod", s.w.evict(ctx, "soak", web)
	case 7:
		_, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, metav1.CreateOptions{})
		return "create budget", err
	case 8:
		t, b, o := patch(fmt.Sprintf(`{"spec":{"maxUnavailable":"%d%%"}}`, n*5))
		_, err = budgets.Patch(ctx, "web", t, b, o)
		return "change budget", err
	case 9:
		if n < 18 {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: claimed}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}},
				ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}}}
			_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
			return "create pod with a claim", err
		}
		return "delete budget", budgets.Delete(ctx, "web", metav1.DeleteOptions{})
	case 10:
		_, err = pods.Patch(ctx, claimed, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
		return "pod with a claim is done", err
	case 11:
		return "delete pod with a claim", pods.Delete(ctx, claimed, now)
	case 12:
		list, err := claims.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || len(list.Items) == 0 {
			return "delete claim", err
		}
		return "delete claim", claims.Delete(ctx, list.Items[0].Name, metav1.DeleteOptions{})
	case 13:
		if s.random.IntN(2) == 0 {
			return "delete role", roles.Delete(ctx, role, metav1.DeleteOptions{})
		}
		_, err = roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role, Labels: map[string]string{"soak": "true"}}, Rules: []rbacv1.PolicyRule{ruleFor(role)}}, metav1.CreateOptions{})
		return "create role", err
	case 14:
		t, b, o := patch(fmt.Sprintf(`{"metadata":{"labels":{"soak":"%t"}}}`, s.random.IntN(2) == 0))
		_, err = roles.Patch(ctx, role, t, b, o)
		return "relabel role", err
	case 15:
		if s.random.IntN(3) == 0 {
			return "delete node", nodes.Delete(ctx, node, metav1.DeleteOptions{})
		}
		_, err = nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
		return "create node", err
	case 16:
		if s.random.IntN(2) == 0 {
			return "delete ServiceCIDR", cidrs.Delete(ctx, cidr, metav1.DeleteOptions{})
		}
		_, err = cidrs.Create(ctx, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: cidr}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{fmt.Sprintf("10.40.%d.0/28", n%5)}}}, metav1.CreateOptions{})
		return "create ServiceCIDR", err
	default:
		if s.random.IntN(2) == 0 {
			return "delete Service", services.Delete(ctx, cidr, metav1.DeleteOptions{})
		}
		_, err = services.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: cidr}, Spec: corev1.ServiceSpec{ClusterIP: fmt.Sprintf("10.40.%d.5", n%5), Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		return "create Service", err
	}
}

// planIsEmpty asks all cores about all objects.
func (w *world) planIsEmpty(t *testing.T) {
	t.Helper()
	ctx, all, now := t.Context(), metav1.ListOptions{}, time.Now()
	pods, err := w.CoreV1().Pods("").List(ctx, all)
	require.NoError(t, err)
	nodes, err := w.CoreV1().Nodes().List(ctx, all)
	require.NoError(t, err)
	budgets, err := w.PolicyV1().PodDisruptionBudgets("").List(ctx, all)
	require.NoError(t, err)
	sets, err := w.AppsV1().ReplicaSets("").List(ctx, all)
	require.NoError(t, err)
	claims, err := w.ResourceV1().ResourceClaims("").List(ctx, all)
	require.NoError(t, err)
	templates, err := w.ResourceV1().ResourceClaimTemplates("").List(ctx, all)
	require.NoError(t, err)
	roles, err := w.RbacV1().ClusterRoles().List(ctx, all)
	require.NoError(t, err)
	cidrs, err := w.NetworkingV1().ServiceCIDRs().List(ctx, all)
	require.NoError(t, err)
	addresses, err := w.NetworkingV1().IPAddresses().List(ctx, all)
	require.NoError(t, err)

	d, err := disruption.PlanAll(disruption.Snapshot{Now: now, Budgets: pointers(budgets.Items), Pods: pointers(pods.Items), ReplicaSets: pointers[appsv1.ReplicaSet](sets.Items)}, disruption.Options{})
	require.NoError(t, err)
	for _, o := range d {
		require.Empty(t, o.Result.Actions, "%v", o.Key)
	}
	c, err := resourceclaim.PlanAll(resourceclaim.Snapshot{Now: now, Pods: pointers(pods.Items), Claims: pointers[resourcev1.ResourceClaim](claims.Items),
		Templates: pointers(templates.Items)}, resourceclaim.Options{})
	require.NoError(t, err)
	for _, o := range c {
		require.Empty(t, o.Result.Actions, "%v", o.Key)
	}
	r, err := rbacaggregate.PlanAll(rbacaggregate.Snapshot{ClusterRoles: pointers(roles.Items)}, rbacaggregate.Options{})
	require.NoError(t, err)
	require.Empty(t, r)
	s, err := servicecidr.PlanAll(servicecidr.Snapshot{Now: now, ServiceCIDRs: pointers(cidrs.Items), IPAddresses: pointers(addresses.Items)}, servicecidr.Options{})
	require.NoError(t, err)
	require.Empty(t, s)
	x, _ := ttl.NewIndex(ttl.Snapshot{Nodes: pointers(nodes.Items)}, ttl.Options{}).Recover()
	n, err := x.PlanAll()
	require.NoError(t, err)
	require.Empty(t, n)
	t.Logf("nothing to do for %d pods, %d claims, %d roles, %d ServiceCIDRs, %d nodes", len(pods.Items), len(claims.Items), len(roles.Items), len(cidrs.Items), len(nodes.Items))
}

func pointers[T any](list []T) []*T {
	var p []*T
	for i := range list {
		p = append(p, &list[i])
	}
	return p
}
