package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
)

// served is the API server in memory, and what it was asked.
type served struct {
	apiserver.Handler

	mu    sync.Mutex
	asked map[string]int // by "verb resource"
	// refused are requests that the rules do not allow.
	refused []string
}

// serveObjects serves these objects to whoever has these rules; nil: to everybody.
func serveObjects(t *testing.T, rules []rbacv1.PolicyRule, objects ...apiserver.Object) *served {
	t.Helper()
	s := &served{asked: map[string]int{}}
	s.Server = apiserver.New(objects...)
	s.Allow = func(r purekube.Request) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		resource := r.Resource.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		s.asked[r.Verb+" "+resource]++
		if rules == nil || allowed(rules, r.Verb, r.Resource.Group, resource) {
			return nil
		}
		s.refused = append(s.refused, r.Verb+" "+resource)
		return apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, errors.New("no rule allows it"))
	}
	return s
}

func allowed(rules []rbacv1.PolicyRule, verb, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource)
	})
}

// runSet runs controllers until the condition holds, in a bubble: a slow machine takes none of the time that there is. The
// condition is looked at when nothing is under way, and no request is when it returns.
func (s *served) runSet(t *testing.T, o clientgo.SetOptions, until func() bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		way, stop := apiserver.Serve(&s.Handler)
		defer stop()
		set := clientgo.New(&rest.Config{Host: "http://api", Transport: way}, o)
		var running sync.WaitGroup
		running.Go(func() {
			if err := set.Run(klog.NewContext(context.Background(), logr.Discard())); err != nil {
				t.Error(err)
			}
		})
		defer synctest.Wait()
		defer running.Wait()
		defer set.Stop()
		require.Eventually(t, until, 4*time.Minute, 20*time.Millisecond)
	})
}

func (s *served) times(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[request]
}

// Each controller works with the rights of PolicyRules and no others, and asks for all of them that its writes need.
func TestExactlyTheseRights(t *testing.T) {
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu")
	pod.Status.ResourceClaimStatuses = nil
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName}}
	for _, tc := range []struct {
		controller, last string
		objects          []apiserver.Object
	}{
		{"servicecidr", "patch servicecidrs/status", []apiserver.Object{&networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: "services"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}}}}},
		{"resourceclaim", "patch pods/status", []apiserver.Object{pod, template}},
		{"ttl", "patch nodes", []apiserver.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}}},
		{"rbacaggregate", "patch clusterroles", []apiserver.Object{
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sum"}, AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "part"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}}}}}},
		{"disruption", "patch poddisruptionbudgets/status", []apiserver.Object{purekubetest.MaxUnavailable("shop/web", "1")}},
	} {
		t.Run(tc.controller, func(t *testing.T) {
			rules, err := clientgo.PolicyRules(tc.controller)
			require.NoError(t, err)
			s := serveObjects(t, rules, tc.objects...)
			s.runSet(t, clientgo.SetOptions{Controllers: []string{tc.controller}}, func() bool { return s.times(tc.last) > 0 })
			require.Empty(t, s.refused)
		})
	}
}

// 5,000 claims at once, each with a pod that is done: two updates and a deletion for each, and no lookup. A write that
// crosses another one of the same claim is made again: one in fifty at most.
func TestThousandsOfClaimsAtOnce(t *testing.T) {
	claims := 5000
	if testing.Short() {
		claims = 500
	}
	var objects []apiserver.Object
	for i := range claims {
		pod := purekubetest.Pod(fmt.Sprint("ml/train-", i))
		claim := purekubetest.ClaimFor(pod, "gpu")
		claim.Finalizers = []string{resourcev1.Finalizer}
		claim.Status.Allocation = &resourcev1.AllocationResult{}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		objects = append(objects, purekubetest.Ended(pod), claim)
	}
	s := serveObjects(t, nil, objects...)
	s.runSet(t, clientgo.SetOptions{Controllers: []string{"resourceclaim"}, QPS: -1, LookupQPS: 1000}, func() bool {
		return s.times("delete resourceclaims") >= claims
	})
	for request, n := range s.asked {
		if strings.HasPrefix(request, "list") || strings.HasPrefix(request, "watch") {
			continue
		}
		require.Contains(t, []string{"patch resourceclaims/status", "patch resourceclaims", "delete resourceclaims"}, request)
		require.LessOrEqual(t, n, claims+claims/50, request)
	}
	t.Log(s.asked)
}

// A claim with 256 consumers, the most that there can be, none of which the informer shows: one lookup for each, and
// one update for all of them.
func TestClaimWithAsManyConsumersAsThereCanBe(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "shared", Finalizers: []string{resourcev1.Finalizer}}}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	for i := range resourcev1.ResourceClaimReservedForMaxSize {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
			Resource: "pods", Name: fmt.Sprint("gone-", i), UID: types.UID(fmt.Sprint(i))})
	}
	s := serveObjects(t, nil, claim)
	s.runSet(t, clientgo.SetOptions{Controllers: []string{"resourceclaim"}, LookupQPS: 1000}, func() bool {
		return s.times("patch resourceclaims") > 0
	})
	require.Equal(t, resourcev1.ResourceClaimReservedForMaxSize, s.times("get pods"))
	require.Equal(t, 1, s.times("patch resourceclaims/status"))
	require.Equal(t, 1, s.times("patch resourceclaims"), "the finalizer")
}

// A budget over 20,000 pods of Jobs, which have no scale: one write, and no lookup.
func TestBudgetOverThousandsOfJobs(t *testing.T) {
	pods := 20_000
	if testing.Short() {
		pods = 2_000
	}
	budget := purekubetest.MaxUnavailable("shop/jobs", "1")
	objects := []apiserver.Object{budget}
	for i := range pods {
		name := fmt.Sprint("job-", i)
		objects = append(objects, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: budget.Spec.Selector.MatchLabels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(name), Controller: ptr.To(true)}}}})
	}
	s := serveObjects(t, nil, objects...)
	s.runSet(t, clientgo.SetOptions{Controllers: []string{"disruption"}}, func() bool {
		return s.times("patch poddisruptionbudgets/status") > 0
	})
	require.Equal(t, 1, s.times("patch poddisruptionbudgets/status"))
	for request := range s.asked {
		require.NotRegexp(t, "^get|scale", request)
	}
}

// A veto is seen, nothing is sent, and nothing spins.
func TestVeto(t *testing.T) {
	s := serveObjects(t, nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "left-out"}})
	var mu sync.Mutex
	var vetoed, sent []string
	s.runSet(t, clientgo.SetOptions{Controllers: []string{"ttl"}, Hooks: clientgo.Hooks{
		Filter: func(_ string, key purekube.Key) bool { return key.Name != "left-out" },
		BeforeSend: func(_ context.Context, a clientgo.Sending) error {
			if a.Key.Name == "theirs" {
				return errors.New("not mine")
			}
			a.Request.FieldManager = "changed"
			return nil
		},
		OnAction: func(r clientgo.ActionResult) {
			mu.Lock()
			defer mu.Unlock()
			if r.Vetoed {
				vetoed = append(vetoed, r.Key.Name+": "+r.Err.Error())
			} else {
				sent = append(sent, r.Key.Name+" by "+r.Request.FieldManager)
			}
		},
		OnRetry: func(r clientgo.Retry) { t.Errorf("retried: %v", r) },
	}}, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(vetoed) > 0 && len(sent) > 0
	})
	require.Equal(t, []string{"theirs: not mine"}, vetoed)
	require.Equal(t, []string{"mine by changed"}, sent)
	require.Equal(t, 1, s.times("patch nodes"))
}

// What docs/controller.md shows does what it says.
func TestHooksOfThePage(t *testing.T) {
	for _, tc := range []struct {
		name, day string
		want      int64
	}{{"a Sunday", "2026-11-22", 0}, {"a Monday", "2026-11-23", 1}} {
		t.Run(tc.name, func(t *testing.T) {
			day, err := time.Parse(time.DateOnly, tc.day)
			require.NoError(t, err)
			var sent atomic.Int64
			hooks := careful(func() time.Time { return day }, &sent)
			planned, tell := make(chan bool, 1), hooks.OnAction
			hooks.OnAction = func(r clientgo.ActionResult) { tell(r); planned <- true }
			s := serveObjects(t, nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
			s.runSet(t, clientgo.SetOptions{Controllers: []string{"ttl"}, Hooks: hooks}, func() bool { return len(planned) > 0 })
			require.Equal(t, tc.want, sent.Load())
		})
	}
}

// A program that runs two controllers has as many lines as docs/controller.md says: those of main and runTwo.
func TestProgramIsShort(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	lines := 0
	for _, part := range []struct{ from, to string }{{"\tmain := func() {", "\n\t}\n"}, {"func runTwo(", "\n}\n"}} {
		_, text, found := strings.Cut(string(source), part.from)
		require.True(t, found)
		text, _, found = strings.Cut(text, part.to)
		require.True(t, found)
		lines += strings.Count(text, "\n") + 2
	}
	require.Equal(t, 18, lines)
	page, err := os.ReadFile(filepath.Join("..", "docs", "controller.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("has %d lines", lines))
}

// A Set that never runs leaves no goroutine behind, whether its options are right or wrong: the bubble of a test does not end
// before its goroutines.
func TestSetThatNeverRuns(t *testing.T) {
	for _, names := range [][]string{{"ttl", "disruption"}, {"ttl", "unknown"}} {
		synctest.Test(t, func(t *testing.T) {
			clientgo.New(&rest.Config{Host: "http://api"}, clientgo.SetOptions{Controllers: names})
		})
	}
}

// A second Run is an error, and the first one goes on.
func TestSetRunsOnce(t *testing.T) {
	s := serveObjects(t, nil)
	synctest.Test(t, func(t *testing.T) {
		way, stop := apiserver.Serve(&s.Handler)
		defer stop()
		// A rate limiter of the configuration would be one for all clients.
		set := clientgo.New(&rest.Config{Host: "http://api", Transport: way, RateLimiter: noRate{}}, clientgo.SetOptions{Controllers: []string{"ttl"}})
		ctx := klog.NewContext(context.Background(), logr.Discard())
		var running sync.WaitGroup
		running.Go(func() {
			if err := set.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer synctest.Wait()
		defer running.Wait()
		defer set.Stop()
		synctest.Wait()
		require.Empty(t, set.Unsynced())
		require.ErrorContains(t, set.Run(ctx), "a Set runs once")
		_, err := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://api", Transport: way, ContentConfig: inJSON}).CoreV1().Nodes().
			Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return s.times("patch nodes") == 1 }, time.Minute, time.Second, "the first one goes on")
	})
}

// inJSON is what the API server in memory reads.
var inJSON = rest.ContentConfig{ContentType: "application/json"}

// noRate lets nothing through.
type noRate struct{ flowcontrol.RateLimiter }

func (noRate) Wait(context.Context) error { return errors.New("the rate is used up") }
