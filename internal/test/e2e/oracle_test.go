package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// The real kube-controller-manager works in one cluster, the manager in another. The same random things are done to both.
// In the end both clusters are the same. What a numbered divergence explains is left out of what is
// done: two deleted ServiceCIDRs of one range (D-1), cycles of roles (D-11), rules written by hand (D-20), a claim that is
// deleted by hand beside another (D-5), budgets of what has no scale (D-13), and the claims
// that upstream makes for a pod although it is done (D-7). So is what hangs on which of the two is faster: a ServiceCIDR that is deleted
// before it has its finalizer.
func TestEndStateIsUpstreams(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kube-controller-manager takes the longest to build: not with -short")
	}
	forEachModule(t, func(t *testing.T, of module) {
		ours, theirs := newWorld(t), newWorld(t)
		manager := ours.start(t, of, "manager", ours.Endpoint())
		upstream := theirs.startUpstream(t, theirs.Endpoint())
		defer func() { _ = upstream.Stop() }()

		s := newScript(t, rand.New(rand.NewPCG(seed.First(t, 1), 0)), ours, theirs)
		for range 150 {
			s.step()
		}
		s.end()
		for _, w := range s.worlds {
			w.still(t, idle)
		}
		got, want := ours.state(t), theirs.state(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-kube-controller-manager +manager):\n%s\nafter\n%s", diff, s.log)
		}
		t.Logf("%d objects are the same after %v", len(want), s.did)
		manager.stop(t)
	})
}

// script does the same to several clusters.
type script struct {
	t      *testing.T
	random *rand.Rand
	worlds []*world
	log    string
	did    map[string]int
	made   int // for names
	nodes  int

	roles, cidrs, services, pods, claimed []string
	owners                                map[*world]map[string]metav1.OwnerReference
	claimedState                          map[string]string // created, allocated, running
}

const oracleNamespace = "oracle"

func newScript(t *testing.T, random *rand.Rand, worlds ...*world) *script {
	t.Helper()
	s := &script{t: t, random: random, worlds: worlds, did: map[string]int{}, owners: map[*world]map[string]metav1.OwnerReference{}, claimedState: map[string]string{}}
	for _, w := range worlds {
		w.namespace(t, oracleNamespace)
		w.createTemplate(t, oracleNamespace, "gpu")
		w.createTemplate(t, oracleNamespace, "nic")
		w.createRole(t, "level-1", map[string]string{"level-2": "true"}, labelled("level-1"))
		w.createRole(t, "level-2", nil, labelled("level-2"))
		s.owners[w] = map[string]metav1.OwnerReference{
			"web": w.createReplicaSet(t, oracleNamespace, "web", 5),
			"db":  w.createStatefulSet(t, oracleNamespace, "db", 3),
			"own": {}, // pods without a controller
		}
	}
	// Nothing else is done before both are at work: a budget that nobody has seen yet refuses evictions.
	s.each("create three budgets, and wait until they are seen", func(w *world) error {
		w.createBudget(t, oracleNamespace, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromString("30%"))})
		w.createBudget(t, oracleNamespace, "db", policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(2))})
		w.createBudget(t, oracleNamespace, "own", policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1))})
		eventually(t, patience, "the budgets are seen", w.budgetsAreSeen(oracleNamespace))
		return nil
	})
	return s
}

// each does one thing to all clusters.
func (s *script) each(what string, do func(w *world) error) {
	s.t.Helper()
	s.log += what + "\n"
	for i, w := range s.worlds {
		require.NoError(s.t, do(w), "%s in cluster %d", what, i)
	}
}

// ours is the cluster of the manager.
func (s *script) ours() *world { return s.worlds[0] }

func (s *script) name(kind string) string {
	s.made++
	return fmt.Sprintf("%s-%d", kind, s.made)
}

// pick takes one of the list, and takes it out if it is to be removed.
func (s *script) pick(list *[]string, remove bool) (string, bool) {
	if len(*list) == 0 {
		return "", false
	}
	i := s.random.IntN(len(*list))
	name := (*list)[i]
	if remove {
		*list = append((*list)[:i:i], (*list)[i+1:]...)
	}
	return name, true
}

// step does one random thing.
func (s *script) step() {
	s.t.Helper()
	steps := []struct {
		what string
		do   func() bool
	}{
		{"role", s.createRole}, {"role", s.relabelRole}, {"role", s.deleteRole},
		{"ServiceCIDR", s.createCIDR}, {"ServiceCIDR", s.deleteCIDR}, {"Service", s.createService}, {"Service", s.deleteService},
		{"node", s.changeNodes},
		{"pod", s.createPod}, {"pod", s.createPod}, {"readiness", s.changeReadiness}, {"readiness", s.changeReadiness}, {"pod", s.removePod}, {"eviction", s.evict}, {"budget", s.changeBudget},
		{"claim", s.createClaimed}, {"claim", s.advanceClaimed}, {"claim", s.advanceClaimed},
	}
	for {
		choice := steps[s.random.IntN(len(steps))]
		if choice.do() {
			s.did[choice.what]++
			return
		}
	}
}

func (s *script) createRole() bool {
	name := s.name("role")
	labels := []map[string]string{nil, {"level-1": "true"}, {"level-2": "true"}, {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}[s.random.IntN(4)]
	rule := ruleFor(fmt.Sprint("things-", s.random.IntN(10)))
	s.each("create role "+name, func(w *world) error { w.createRole(s.t, name, labels, nil, rule); return nil })
	s.roles = append(s.roles, name)
	return true
}

func (s *script) relabelRole() bool {
	name, ok := s.pick(&s.roles, false)
	if !ok {
		return false
	}
	body := []string{`{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"level-1":"true"}}}`}[s.random.IntN(2)]
	s.each("relabel "+name+" "+body, func(w *world) error {
		_, err := w.RbacV1().ClusterRoles().Patch(s.t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	})
	return true
}

func (s *script) deleteRole() bool {
	name, ok := s.pick(&s.roles, true)
	if ok {
		s.each("delete "+name, func(w *world) error {
			return w.RbacV1().ClusterRoles().Delete(s.t.Context(), name, metav1.DeleteOptions{})
		})
	}
	return ok
}

func (s *script) createCIDR() bool {
	if len(s.cidrs) == 4 {
		return false
	}
	name := s.name("cidr")
	s.each("create "+name, func(w *world) error {
		_, err := w.NetworkingV1().ServiceCIDRs().Create(s.t.Context(), &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{fmt.Sprintf("10.30.%d.0/28", s.made%250)}}}, metav1.CreateOptions{})
		return err
	})
	s.cidrs = append(s.cidrs, fmt.Sprintf("10.30.%d.5", s.made%250)+" "+name)
	return true
}

// deleteCIDR waits for the finalizer first. A ServiceCIDR without one is gone at once, whatever its addresses. In the
// cluster where that happens, nothing is held, and the address of a Service that is deleted afterwards stays for a while:
// the API server releases an address only where it has an allocator for a ServiceCIDR around it. Else its repair
// deletes the address, a minute or up to three later.
func (s *script) deleteCIDR() bool {
	entry, ok := s.pick(&s.cidrs, true)
	if ok {
		_, name := split(entry)
		s.each("delete "+name, func(w *world) error {
			eventually(s.t, patience, name+" has its finalizer", w.hasFinalizer(name))
			return w.NetworkingV1().ServiceCIDRs().Delete(s.t.Context(), name, metav1.DeleteOptions{})
		})
	}
	return ok
}

func (s *script) createService() bool {
	entry, ok := s.pick(&s.cidrs, false)
	if !ok {
		return false
	}
	address, _ := split(entry)
	name := "at-" + address[len("10."):]
	name = dashed(name)
	for _, have := range s.services {
		if have == name {
			return false
		}
	}
	s.each("create Service "+name, func(w *world) error { w.createService(s.t, oracleNamespace, name, address); return nil })
	s.services = append(s.services, name)
	return true
}

func (s *script) deleteService() bool {
	name, ok := s.pick(&s.services, true)
	if ok {
		s.each("delete Service "+name, func(w *world) error {
			return w.CoreV1().Services(oracleNamespace).Delete(s.t.Context(), name, metav1.DeleteOptions{})
		})
	}
	return ok
}

// changeNodes adds or takes away a number of nodes around the first two steps.
func (s *script) changeNodes() bool {
	to := []int{0, 40, 89, 95, 101}[s.random.IntN(5)]
	from := s.nodes
	if to == from {
		return false
	}
	s.each(fmt.Sprintf("%d nodes", to), func(w *world) error {
		w.createNodes(s.t, from, to)
		w.deleteNodes(s.t, to, from)
		return nil
	})
	s.nodes = to
	return true
}

func (s *script) createPod() bool {
	app := []string{"web", "web", "db", "own"}[s.random.IntN(4)]
	name := s.name(app)
	s.each("create pod "+name, func(w *world) error {
		w.createPod(s.t, oracleNamespace, name, app, s.owners[w][app])
		return nil
	})
	s.pods = append(s.pods, name)
	return true
}

func (s *script) changeReadiness() bool {
	name, ok := s.pick(&s.pods, false)
	if ok {
		ready := s.random.IntN(3) > 0
		s.each(fmt.Sprintf("pod %s ready %t", name, ready), func(w *world) error { w.setReady(s.t, oracleNamespace, name, ready); return nil })
	}
	return ok
}

func (s *script) removePod() bool {
	name, ok := s.pick(&s.pods, true)
	if ok {
		s.each("remove pod "+name, func(w *world) error { w.removePod(s.t, oracleNamespace, name); return nil })
	}
	return ok
}

// evict lets the budgets come to rest first: whether the API server evicts hangs on them.
func (s *script) evict() bool {
	name, ok := s.pick(&s.pods, false)
	if !ok {
		return false
	}
	var verdicts []string
	s.each("evict pod "+name, func(w *world) error {
		w.still(s.t, time.Second)
		err := w.evict(s.t.Context(), oracleNamespace, name)
		verdicts = append(verdicts, string(apierrors.ReasonForError(err)))
		return nil
	})
	require.Equal(s.t, verdicts[0], verdicts[1], "evict pod %s, after\n%s", name, s.log)
	if verdicts[0] == "" {
		s.each("pod "+name+" ends", func(w *world) error { w.removePod(s.t, oracleNamespace, name); return nil })
		for i := range s.pods {
			if s.pods[i] == name {
				s.pods = append(s.pods[:i:i], s.pods[i+1:]...)
				break
			}
		}
	}
	return true
}

func (s *script) changeBudget() bool {
	body := []string{
		`{"spec":{"maxUnavailable":1,"minAvailable":null}}`, `{"spec":{"maxUnavailable":"50%","minAvailable":null}}`, `{"spec":{"maxUnavailable":0,"minAvailable":null}}`,
		`{"spec":{"maxUnavailable":null,"minAvailable":"67%"}}`, `{"spec":{"maxUnavailable":null,"minAvailable":3}}`,
	}[s.random.IntN(5)]
	name := []string{"web", "db"}[s.random.IntN(2)]
	s.each("budget "+name+" "+body, func(w *world) error {
		_, err := w.PolicyV1().PodDisruptionBudgets(oracleNamespace).Patch(s.t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	})
	return true
}

func (s *script) createClaimed() bool {
	name := s.name("claimed")
	templates := [][]string{{"gpu"}, {"nic", "gpu"}}[s.random.IntN(2)]
	s.each("create pod "+name, func(w *world) error {
		w.createPodWithClaims(s.t, oracleNamespace, name, templates...)
		return nil
	})
	s.claimed = append(s.claimed, name)
	s.claimedState[name] = fmt.Sprint("made with ", len(templates))
	return true
}

// advanceClaimed takes a pod with claims one step further: placed, done, removed.
func (s *script) advanceClaimed() bool {
	name, ok := s.pick(&s.claimed, false)
	if !ok {
		return false
	}
	switch state := s.claimedState[name]; state {
	case "made with 1", "made with 2":
		templates := make([]string, int(state[len(state)-1]-'0'))
		s.each("place "+name, func(w *world) error {
			for _, claim := range w.claimsOnce(s.t, oracleNamespace, name, templates...) {
				w.allocate(s.t, oracleNamespace, claim)
			}
			return w.CoreV1().Pods(oracleNamespace).Bind(s.t.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}}, metav1.CreateOptions{})
		})
		s.claimedState[name] = "placed"
	case "placed":
		phase := []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[s.random.IntN(2)]
		s.each(fmt.Sprintf("%s is %s", name, phase), func(w *world) error {
			w.changeStatus(s.t, oracleNamespace, name, func(st *corev1.PodStatus) { st.Phase = phase })
			return nil
		})
		s.claimedState[name] = "done"
	default:
		s.pickOut(name)
		s.each("remove "+name, func(w *world) error {
			if w == s.ours() {
				w.noClaims(s.t, oracleNamespace, name)
				w.removePod(s.t, oracleNamespace, name)
				return nil
			}
			// Upstream deletes the claims and makes others, a few times as a rule, and for minutes in one run (D-7).
			pod, err := w.CoreV1().Pods(oracleNamespace).Get(s.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			w.removePod(s.t, oracleNamespace, name)
			w.collectClaims(s.t, pod)
			return nil
		})
	}
	return true
}

func (s *script) pickOut(name string) {
	for i := range s.claimed {
		if s.claimed[i] == name {
			s.claimed = append(s.claimed[:i:i], s.claimed[i+1:]...)
			return
		}
	}
}

// end touches every node and every budget once more. Upstream looks at a node when it changes itself, which a kubelet
// sees to, and at a budget when it or a pod changes, but not when a workload does.
func (s *script) end() {
	touch := []byte(`{"metadata":{"annotations":{"touched":"true"}}}`)
	s.each("touch the nodes", func(w *world) error {
		for i := range s.nodes {
			if _, err := w.CoreV1().Nodes().Patch(s.t.Context(), nodeName(i), types.MergePatchType, touch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	s.each("touch the budgets", func(w *world) error {
		list, err := w.PolicyV1().PodDisruptionBudgets("").List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, b := range list.Items {
			if _, err := w.PolicyV1().PodDisruptionBudgets(b.Namespace).Patch(s.t.Context(), b.Name, types.MergePatchType, touch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// claimsOnce waits for the pod's claims.
func (w *world) claimsOnce(t *testing.T, ns, pod string, templates ...string) (names []string) {
	t.Helper()
	eventually(t, patience, "pod "+pod+" has its claims", func(ctx context.Context) (err error) {
		names, err = w.claimNames(ctx, ns, pod, templates...)
		return err
	})
	return names
}

// noClaims waits until a pod that is done has no claim.
func (w *world) noClaims(t *testing.T, ns, pod string) {
	t.Helper()
	eventually(t, patience, "pod "+pod+" has no claims", func(ctx context.Context) error {
		p, err := w.CoreV1().Pods(ns).Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		claims, err := w.claimsControlledBy(ctx, p)
		if err == nil && len(claims) > 0 {
			err = fmt.Errorf("there is %s", claims[0])
		}
		return err
	})
}

// collectClaims deletes the claims of a pod that is gone, until there was none for a second: there is no garbage collector here.
func (w *world) collectClaims(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	since := time.Now()
	eventually(t, patience, "the claims of "+pod.Name+" are gone for a second", func(ctx context.Context) error {
		claims, err := w.claimsControlledBy(ctx, pod)
		if err != nil {
			return err
		}
		for _, name := range claims {
			since = time.Now()
			if err := w.ResourceV1().ResourceClaims(pod.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if time.Since(since) < time.Second {
			return errors.New("not yet for a second")
		}
		return nil
	})
}

// claimsControlledBy are the names of the claims that the pod controls.
func (w *world) claimsControlledBy(ctx context.Context, pod *corev1.Pod) (names []string, err error) {
	claims, err := w.ResourceV1().ResourceClaims(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range claims.Items {
		if metav1.IsControlledBy(&claims.Items[i], pod) {
			names = append(names, claims.Items[i].Name)
		}
	}
	return names, nil
}

func (w *world) budgetsAreSeen(ns string) func(context.Context) error {
	return func(ctx context.Context) error {
		budgets, err := w.PolicyV1().PodDisruptionBudgets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, b := range budgets.Items {
			if err := expect("the observed generation of "+b.Name, b.Generation, b.Status.ObservedGeneration); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *world) hasFinalizer(cidr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := w.NetworkingV1().ServiceCIDRs().Get(ctx, cidr, metav1.GetOptions{})
		if err == nil && !slices.Contains(c.Finalizers, servicecidr.Finalizer) {
			err = errors.New("no finalizer")
		}
		return err
	}
}

func split(entry string) (address, name string) {
	address, name, _ = strings.Cut(entry, " ")
	return address, name
}

func dashed(name string) string { return strings.ReplaceAll(name, ".", "-") }
