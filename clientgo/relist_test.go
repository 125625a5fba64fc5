package clientgo

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/ttl"
)

// expired is how an API server ends a watch that it cannot go on with.
var expired = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}

// An informer whose watch ended lists again. Nothing is written for what has not changed meanwhile. What was added,
// changed or replaced is planned; what is gone is no longer counted.
func TestRelist(t *testing.T) {
	node := func(name string, uid types.UID, version, seconds string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: version}}
		if seconds != "" {
			n.Annotations = map[string]string{ttl.Annotation: seconds}
		}
		return n
	}
	before := []corev1.Node{*node("same", "1", "5", "0"), *node("changes", "2", "6", "0"),
		*node("replaced", "3", "7", "0"), *node("goes", "4", "8", "0")}
	for _, tc := range []struct {
		name  string
		after []corev1.Node
		want  []string // the nodes that are written
	}{
		{"nothing changed", before, nil},
		{"four changes", []corev1.Node{*node("same", "1", "5", "0"), *node("changes", "2", "20", ""),
			*node("replaced", "9", "21", ""), *node("comes", "10", "22", "")},
			[]string{"changes", "comes", "replaced"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, events := fake.NewClientset(), watch.NewFake()
				var mu sync.Mutex // of what follows
				lists, nodes := 0, before
				var done []string
				client.PrependWatchReactor("nodes", func(clienttesting.Action) (bool, watch.Interface, error) {
					mu.Lock()
					defer mu.Unlock()
					if lists == 1 {
						return true, events, nil
					}
					return true, watch.NewFake(), nil
				})
				client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
					mu.Lock()
					defer mu.Unlock()
					lists++
					return true, &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "30"}, Items: nodes}, nil
				})
				f := informers.NewSharedInformerFactory(client, 0)
				c := clusterOf(f, &writer{}, nil)
				c.Hooks.OnAction = func(r ActionResult) {
					mu.Lock()
					defer mu.Unlock()
					done = append(done, r.Request.Name)
				}
				r, err := NewTTL(c, ttl.Options{})
				require.NoError(t, err)
				go func() {
					time.Sleep(time.Minute)
					mu.Lock()
					nodes = tc.after
					mu.Unlock()
					events.Error(&expired)
				}()
				run(t, f, r, 2*time.Minute)
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, 2, lists)
				slices.Sort(done)
				// A turn may begin between the two events of a replaced node. It has another one then, and writes
				// again, since the writes of this client change nothing.
				require.Equal(t, tc.want, slices.Compact(done))
			})
		})
	}
}

// deaf is a cluster whose watch of claims shows nothing. What is written is there all the same.
type deaf struct {
	*fake.Clientset
	mu      sync.Mutex
	written []string
	looked  int
	claims  []resourcev1.ResourceClaim
}

func (d *deaf) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = append(d.written, r.Verb+" "+r.Resource.Resource)
	if claim, ok := r.Object.(*resourcev1.ResourceClaim); ok && r.Verb == "create" {
		claim = claim.DeepCopy()
		claim.Name, claim.UID, claim.ResourceVersion = "made", "made", "200"
		d.claims = append(d.claims, *claim)
		return claim, nil
	}
	pod, err := d.CoreV1().Pods(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("made")}}
	return d.CoreV1().Pods(r.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

func (d *deaf) Lookup(_ context.Context, n purekube.Need) (purekube.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked++
	for _, c := range d.claims {
		if n.Kind == "ResourceClaim" && n.Name == c.Name {
			return purekube.Answer{Object: &c}, nil
		}
	}
	return purekube.Answer{}, nil
}

// The watch of claims is down for three hours, which is longer than a claim is believed in that no informer shows.
// A pod has one claim all the same: its status names the claim, and the API server has it.
func TestWatchThatIsDownForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := func() *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "p"}}
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
			return p
		}
		d := &deaf{Clientset: fake.NewClientset(&resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu"}})}
		events, first := watch.NewFake(), true
		d.PrependWatchReactor("resourceclaims", func(clienttesting.Action) (bool, watch.Interface, error) {
			if first {
				first = false
				return true, events, nil
			}
			return true, watch.NewFake(), nil
		})
		d.PrependReactor("list", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			list := &resourcev1.ResourceClaimList{Items: slices.Clone(d.claims)}
			list.ResourceVersion = "300"
			return true, list, nil
		})
		f := informers.NewSharedInformerFactory(d, 0)
		c := clusterOf(f, d, nil)
		c.Lookup = d
		r, err := NewResourceClaim(c, resourceclaim.Options{})
		require.NoError(t, err)
		claims := f.Resource().V1().ResourceClaims().Informer().GetStore()
		go func() {
			time.Sleep(time.Second)
			_, err := d.CoreV1().Pods("ml").Create(t.Context(), pod(), metav1.CreateOptions{})
			require.NoError(t, err)
			for hour := range 3 {
				time.Sleep(time.Hour)
				p, err := d.CoreV1().Pods("ml").Get(t.Context(), "p", metav1.GetOptions{})
				require.NoError(t, err)
				p.Labels = map[string]string{"hour": string(rune('0' + hour))} // somebody touches the pod
				_, err = d.CoreV1().Pods("ml").Update(t.Context(), p, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			require.Empty(t, claims.List())
			events.Error(&expired)
		}()
		run(t, f, r, 4*time.Hour)
		require.Len(t, claims.List(), 1, "the watch is back")
		require.Equal(t, []string{"create resourceclaims", "patch pods"}, d.written)
		require.LessOrEqual(t, d.looked, 3, "one lookup for each event")
		require.Positive(t, d.looked)
	})
}

// Where the API server streams no lists, the first list of each informer is one of now. client-go asks for one of any
// age otherwise, and a list from before what another process wrote lets this one make a second claim. Lookups ask for
// the objects of now.
func TestFirstListIsOfNow(t *testing.T) {
	var mu sync.Mutex
	lists, gets := map[string]url.Values{}, []string{}
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "c"},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}}}
	objects := &apiserver.Handler{Server: apiserver.New(claim)}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		switch q := r.URL.Query(); {
		case r.Method != http.MethodGet || q.Has("watch"):
		case r.URL.Path == "/api/v1/namespaces/ml/pods/p":
			gets = append(gets, r.URL.RawQuery)
		case lists[r.URL.Path] == nil:
			lists[r.URL.Path] = q
		}
		mu.Unlock()
		objects.ServeHTTP(w, r)
	})
	o := SetOptions{Controllers: []string{"resourceclaim"}, PodGroups: "v1beta1"}
	o.ResourceClaim.PodGroupOf = func(*corev1.Pod) string { return "" }
	synctest.Test(t, func(t *testing.T) {
		way, stop := apiserver.Serve(handler)
		defer stop()
		s := New(&rest.Config{Host: "http://api", Transport: way}, o)
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, s.Run(logr.NewContext(context.Background(), logr.Discard()))) })
		defer synctest.Wait()
		defer running.Wait()
		defer s.Stop()
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(gets) > 0
		}, time.Minute, 10*time.Millisecond)
	})
	require.Len(t, lists, 4)
	for path, q := range lists {
		require.False(t, q.Has("resourceVersion"), "%s: %v", path, q)
	}
	require.NotContains(t, gets[0], "resourceVersion")
}
