package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// watching is how long requests are counted after the cluster is as it should be: retries go on.
const watching = 15 * time.Second

// situation is something that costs one request or thousands, depending on the controller.
type situation struct {
	name string
	// begin makes the situation, which settled reports the end of.
	begin   func(*testing.T, *world)
	settled func(*world) func(context.Context) error
	// bounds are the most requests of a module, by verb and resource. There are no requests of other kinds.
	bounds map[string]int
}

// situationsWith has this many pods at once that get a claim each.
func situationsWith(claims int) []situation {
	return []situation{{
		name: "a budget over thousands of Jobs",
		begin: func(t *testing.T, w *world) {
			w.createBudget(t, "batch", "batch", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
		},
		settled: func(w *world) func(context.Context) error { return w.budgetFails("batch", "batch", "") },
		bounds:  map[string]int{"PATCH poddisruptionbudgets/status": 1}, // it is known that Jobs have no scale
	}, {
		name:    "a claim with 256 consumers that are gone",
		begin:   func(t *testing.T, w *world) { w.createClaimOfGonePods(t, "shared", "gpu") },
		settled: func(w *world) func(context.Context) error { return w.deallocated("shared", "gpu") },
		bounds: map[string]int{
			"GET pods": resourcev1.ResourceClaimReservedForMaxSize, "PATCH resourceclaims/status": 1, "PATCH resourceclaims": 1,
		},
	}, {
		name: "thousands of pods at once, with a claim each",
		begin: func(t *testing.T, w *world) {
			manyAtOnce(claims, func(i int) { w.createPodWithClaims(t, "claims", fmt.Sprint("train-", i), "gpu") })
		},
		settled: func(w *world) func(context.Context) error { return w.claimsFor("claims", claims) },
		// One in fifty may be sent again. Workers that begin at the same time may each read the template.
		bounds: map[string]int{"POST resourceclaims": claims + claims/50, "PATCH pods/status": claims + claims/50, "GET resourceclaimtemplates": 4},
	}}
}

// The requests of kube-controller-manager and of each module in the same situations. A module stays within its bounds, and
// sends no more than kube-controller-manager, or one in fifty more. Events are not counted. With -long there are 20,000 Jobs and 5,000 claims.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("kube-controller-manager takes the longest to build: not with -short")
	}
	const qps, burst = "-kube-api-qps=500", "-kube-api-burst=1000"
	theirs := map[string]int{}
	t.Run("kube-controller-manager", func(t *testing.T) {
		requestsOf(t, func(w *world, at cluster.Endpoint) *manager {
			return w.startUpstream(t, at, "-"+qps, "-"+burst)
		}, func(s situation, counted map[string]int) { theirs[s.name] = sum(counted) })
	})
	for _, of := range modules {
		t.Run(of.name, func(t *testing.T) {
			flags := of.alone
			if of.name == clientGo.name { // controller-runtime has no limit
				flags = append([]string{qps, burst}, flags...)
			}
			requestsOf(t, func(w *world, at cluster.Endpoint) *manager {
				return w.start(t, of, of.name, at, flags...)
			}, func(s situation, counted map[string]int) {
				for request, n := range counted {
					require.LessOrEqual(t, n, s.bounds[request], "%s, of %v", request, counted)
				}
				if most, known := theirs[s.name]; known {
					require.LessOrEqual(t, sum(counted), most+most/50, "no more than kube-controller-manager")
				}
			})
		})
	}
}

// requestsOf counts the requests of a program in each situation, one after the other, by verb and resource.
func requestsOf(t *testing.T, start func(*world, cluster.Endpoint) *manager, check func(situation, map[string]int)) {
	w := newWorld(t)
	for _, ns := range []string{"batch", "shared", "claims"} {
		w.namespace(t, ns)
	}
	w.createTemplate(t, "claims", "gpu")
	jobs, claims := 2_000, 500
	if *long {
		jobs, claims = 20_000, 5_000
	}
	w.createJobPods(t, "batch", jobs)
	p := newProxy(t, w)
	m := start(w, p.Endpoint)
	w.createServiceCIDR(t, "first", "10.42.0.0/28")
	eventually(t, patience, "the program works", w.hasFinalizer("first"))
	time.Sleep(watching)
	for _, s := range situationsWith(claims) {
		t.Run(s.name, func(t *testing.T) {
			p.count()
			started := time.Now()
			s.begin(t, w)
			eventually(t, 5*time.Minute, s.name, s.settled(w))
			took := time.Since(started)
			time.Sleep(watching)
			counted := byResource(p.count())
			t.Logf("as it should be after %.1f s: %d requests: %v", took.Seconds(), sum(counted), counted)
			check(s, counted)
		})
	}
	m.stop(t)
}

// byResource adds up requests by verb and resource, without those about events.
func byResource(requests map[string]int) map[string]int {
	counted := map[string]int{}
	for request, n := range requests {
		method, path, _ := strings.Cut(request, " ")
		if parts := resourceOf(path); parts != "events" {
			counted[method+" "+parts] += n
		}
	}
	return counted
}

// resourceOf is the resource of a path, with its subresource.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "the API's kinds"
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}

func sum(counted map[string]int) (total int) {
	for _, n := range counted {
		total += n
	}
	return total
}

// manyAtOnce calls create for each number below n, sixteen at a time.
func manyAtOnce(n int, create func(int)) {
	numbers := make(chan int)
	var creating sync.WaitGroup
	for range 16 {
		creating.Go(func() {
			for i := range numbers {
				create(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	creating.Wait()
}

// createJobPods makes pods of the app batch, each of a Job of its own.
func (w *world) createJobPods(t *testing.T, ns string, n int) {
	t.Helper()
	manyAtOnce(n, func(i int) {
		name := fmt.Sprint("job-", i)
		w.createPod(t, ns, name, "batch", metav1.OwnerReference{
			APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID("uid-of-" + name), Controller: ptr.To(true)})
	})
}

// createClaimOfGonePods makes an allocated claim that is reserved for as many pods as there can be. No such pods exist.
func (w *world) createClaimOfGonePods(t *testing.T, ns, name string) {
	t.Helper()
	claims := w.ResourceV1().ResourceClaims(ns)
	claim, err := claims.Create(t.Context(), &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: claimSpec()}, metav1.CreateOptions{})
	require.NoError(t, err)
	for i := range resourcev1.ResourceClaimReservedForMaxSize {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
			Resource: "pods", Name: fmt.Sprint("gone-", i), UID: types.UID(fmt.Sprint("uid-of-gone-", i))})
	}
	w.allocateAs(t, claim)
}

// claimsFor checks that this many pods have the name of a claim in their status.
func (w *world) claimsFor(ns string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		pods, err := w.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		named := 0
		for _, p := range pods.Items {
			if len(p.Status.ResourceClaimStatuses) > 0 {
				named++
			}
		}
		return expect("number of pods with a claim", want, named)
	}
}
