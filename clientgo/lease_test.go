package clientgo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/ttl"
)

// leases is an API server that has Leases and nothing else.
type leases struct {
	mu sync.Mutex
	// fails says which request fails.
	fails  func(r *http.Request) bool
	leases map[string]*coordinationv1.Lease
}

func (s *leases) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil && s.fails(r) {
		return answer(http.StatusInternalServerError, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError}), nil
	}
	name := path.Base(r.URL.Path)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		lease := &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(lease); err != nil {
			return nil, err
		}
		s.leases[lease.Name], name = lease, lease.Name
	}
	lease := s.leases[name]
	if lease == nil {
		return answer(http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}), nil
	}
	return answer(http.StatusOK, lease), nil
}

func answer(code int, object any) *http.Response {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text))}
}

// elect returns a Lease on this API server.
func elect(t *testing.T, s *leases, l Lease) *elected {
	t.Helper()
	s.leases = map[string]*coordinationv1.Lease{}
	l.Namespace, l.Name = "ns", "lease"
	e, err := l.elector(&rest.Config{Host: "http://api", Transport: s, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	require.NoError(t, err)
	return e
}

// The elector may renew for a RetryPeriod longer than for the RenewDeadline. Nothing is written in between, and the leader
// goes on when it has renewed.
func TestRenewalThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &leases{fails: func(r *http.Request) bool {
			after := time.Since(start)
			return r.Method == http.MethodPut && after > time.Second && after < 7*time.Second
		}}
		e := elect(t, s, Lease{Duration: 8 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 4 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		err := e.lead(ctx, nil, func(ctx context.Context) error {
			began := time.Now()
			for time.Since(began) < 20*time.Second {
				time.Sleep(100 * time.Millisecond)
				require.NoError(t, ctx.Err(), "it leads all the time")
				switch after := time.Since(began); {
				case after > 5*time.Second && after < 8*time.Second:
					require.ErrorIs(t, e.mayWrite(), ErrLeaseLost, after)
				case after < 5*time.Second || after > 9*time.Second:
					require.NoError(t, e.mayWrite(), after)
				}
			}
			return nil
		})
		require.NoError(t, err)
		cancel()
	})
}

// A request may wait after its worker has asked, for the rate of the client or for the template of a claim. It is checked when it
// is sent.
func TestRequestThatWaitsUntilTheLeaseIsNotRenewed(t *testing.T) {
	claim := resourceclaim.CreateClaim{
		Claim:        &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", GenerateName: "train-gpu-"}},
		TemplateName: "gpu", TemplateUID: "uid",
	}.Request(nil)
	for _, tc := range []struct {
		name    string
		request purekube.Request
		qps     float32
		want    []string
	}{
		{"for the rate", ttl.SetTTL{Name: "n"}.Request(nil), 1, []string{"PATCH"}},
		{"for the template", claim, 50, []string{"PATCH", "GET"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &leases{leases: map[string]*coordinationv1.Lease{}, fails: func(r *http.Request) bool {
					return r.Method == http.MethodPut && time.Since(start) > time.Second
				}}
				var sent []string
				server := roundTrips(func(r *http.Request) (*http.Response, error) {
					if strings.Contains(r.URL.Path, "/leases") {
						return s.RoundTrip(r)
					}
					sent = append(sent, r.Method)
					if r.Method == http.MethodGet {
						time.Sleep(time.Second)
					}
					return answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Node",
						"metadata": map[string]any{"uid": "uid"}, "spec": map[string]any{"spec": map[string]any{}}}), nil
				})
				set := New(&rest.Config{Host: "http://api", Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
					SetOptions{Controllers: []string{"ttl"}, QPS: tc.qps, Burst: 1, Lease: &Lease{Namespace: "ns", Name: "lease"}})
				require.NoError(t, set.Err())
				err := set.lease.lead(t.Context(), nil, func(context.Context) error {
					c := set.controllers[0].(*TTLController).cluster
					time.Sleep(9500*time.Millisecond - time.Since(start))
					_, err := c.Client.Do(t.Context(), ttl.SetTTL{Name: "n"}.Request(nil))
					require.NoError(t, err)
					require.NoError(t, set.lease.mayWrite())
					_, err = c.Client.Do(t.Context(), tc.request) // as if this process was stopped: its context would end, too
					return err
				})
				require.ErrorIs(t, err, ErrLeaseLost)
				require.Equal(t, tc.want, sent)
			})
		})
	}
}

// The Lease is renewed at its own rate.
func TestLeaseDoesNotWaitForTheRateOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leases{leases: map[string]*coordinationv1.Lease{}}
		set := New(&rest.Config{Host: "http://api", Transport: s, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
			SetOptions{Controllers: []string{"ttl"}, QPS: 0.1, Burst: 1, Lease: &Lease{Namespace: "ns", Name: "lease"}})
		require.NoError(t, set.Err())
		require.NoError(t, set.lease.lead(t.Context(), nil, func(ctx context.Context) error {
			for range 60 {
				time.Sleep(time.Second)
				require.NoError(t, ctx.Err())
				require.NoError(t, set.lease.mayWrite())
			}
			return nil
		}))
	})
}

// A request that took too long has ended for its worker, and not for the API server. A server error says as little: a proxy
// may have passed the request on, and etcd may still write.
func TestLeaseIsNotGivenUpAfterARequestWithoutAnAnswer(t *testing.T) {
	unanswered := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	answered := func(code int, object any) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return answer(code, object), nil }
	}
	status := func(code int32, reason metav1.StatusReason) func(*http.Request) (*http.Response, error) {
		return answered(int(code), metav1.Status{TypeMeta: kind("v1", "Status"), Status: metav1.StatusFailure, Reason: reason, Code: code})
	}
	for _, tc := range []struct {
		name    string
		request func(*http.Request) (*http.Response, error)
		later   time.Duration
		givenUp bool
	}{
		{"no answer within 30 s", unanswered, 10 * time.Second, false},
		{"no answer, longer ago than the Lease's Duration", unanswered, 20 * time.Second, true},
		{"504, a Timeout of the API server", status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout), time.Second, false},
		{"500, etcd has not answered", status(http.StatusInternalServerError, metav1.StatusReasonInternalError), time.Second, false},
		{"502 of a proxy", answered(http.StatusBadGateway, "bad gateway"), time.Second, false},
		{"503 of a proxy", answered(http.StatusServiceUnavailable, "unavailable"), time.Second, false},
		{"409, which says that nothing was done", status(http.StatusConflict, metav1.StatusReasonConflict), time.Second, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leases{leases: map[string]*coordinationv1.Lease{}}
				server := roundTrips(func(r *http.Request) (*http.Response, error) {
					if strings.Contains(r.URL.Path, "/leases") {
						return s.RoundTrip(r)
					}
					return tc.request(r)
				})
				set := New(&rest.Config{Host: "http://api", Transport: server, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
					SetOptions{Controllers: []string{"ttl"}, Lease: &Lease{Namespace: "ns", Name: "lease"}})
				require.NoError(t, set.Err())
				require.NoError(t, set.lease.lead(t.Context(), nil, func(ctx context.Context) error {
					writing, cancel := context.WithTimeout(ctx, 30*time.Second)
					defer cancel()
					_, err := set.controllers[0].(*TTLController).cluster.Client.Do(writing, ttl.SetTTL{Name: "n"}.Request(nil))
					require.Error(t, err)
					time.Sleep(tc.later)
					return nil
				}))
				require.Equal(t, tc.givenUp, *s.leases["lease"].Spec.HolderIdentity == "")
			})
		})
	}
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A call that is under way when the renewals have failed for too long may still arrive. Whoever waits for the Lease waits for
// its whole Duration then, even if the API server answers again: the Lease is given up only where all calls have ended.
func TestLeaseIsGivenUpWhenCallsHaveEnded(t *testing.T) {
	for _, tc := range []struct {
		name                string
		lost, ends, givenUp bool
		fails               error
	}{
		{"the renewals fail", true, false, false, nil},
		{"the context of Run ends, which cuts calls off", false, true, false, nil},
		{"the work fails, which cuts calls off", false, false, false, ErrRestored},
		{"the work comes to its end", false, false, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &leases{fails: func(r *http.Request) bool { // every renewal, and not what gives the Lease up
					if !tc.lost || r.Method != http.MethodPut || time.Since(start) < time.Second {
						return false
					}
					body, err := r.GetBody()
					require.NoError(t, err)
					written := &coordinationv1.Lease{}
					require.NoError(t, json.NewDecoder(body).Decode(written))
					return *written.Spec.HolderIdentity != ""
				}}
				e := elect(t, s, Lease{})
				holder := func() string {
					s.mu.Lock()
					defer s.mu.Unlock()
					return *s.leases["lease"].Spec.HolderIdentity
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var during string
				err := e.lead(ctx, nil, func(ctx context.Context) error {
					if tc.ends {
						cancel()
					}
					if tc.lost || tc.ends {
						<-ctx.Done()
					}
					time.Sleep(5 * time.Second) // until the call has ended
					during = holder()
					return tc.fails
				})
				require.Equal(t, tc.lost, errors.Is(err, ErrLeaseLost))
				require.Equal(t, e.renewed.Identity(), during, "calls are under way")
				require.Equal(t, tc.givenUp, holder() == "")
				require.Less(t, time.Since(start), 18*time.Second)
				require.Equal(t, tc.lost || tc.givenUp, errors.Is(e.mayWrite(), ErrLeaseLost))
			})
		})
	}
}

// Workers ask before each write, while another goroutine renews. The race detector looks on.
func TestManyAskWhileOneRenews(t *testing.T) {
	e := elect(t, &leases{}, Lease{Duration: 10 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: time.Millisecond})
	require.NoError(t, e.lead(t.Context(), nil, func(context.Context) error {
		var asking sync.WaitGroup
		for range 4 {
			asking.Go(func() {
				for range 50 {
					time.Sleep(time.Millisecond)
					if err := e.mayWrite(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		asking.Wait()
		return nil
	}))
	require.ErrorIs(t, e.mayWrite(), ErrLeaseLost, "it was given up")
}

// A Lease that is given up is no renewal, and neither is a call that failed.
func TestWhatRenewsALease(t *testing.T) {
	for _, tc := range []struct {
		name, holder string
		fails, want  bool
	}{
		{"a renewal", "me", false, true},
		{"the Lease is given up", "", false, false},
		{"another replica's name", "you", false, false},
		{"the call fails", "me", true, false},
	} {
		for verb, call := range map[string]func(*renewals, context.Context, resourcelock.LeaderElectionRecord) error{
			"Create": (*renewals).Create, "Update": (*renewals).Update,
		} {
			r := &renewals{Interface: &lock{fails: tc.fails}}
			require.Equal(t, tc.fails, call(r, t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: tc.holder}) != nil)
			require.Equal(t, tc.want, r.last.Load() != nil, "%s: %s", verb, tc.name)
		}
	}
}

// lock is the lock of me.
type lock struct {
	resourcelock.Interface
	fails bool
}

func (*lock) Identity() string { return "me" }

func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	if l.fails {
		return errors.New("it fails")
	}
	return nil
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}

func TestLeaseNeedsItsName(t *testing.T) {
	for _, l := range []*Lease{{}, {Namespace: "ns"}, {Name: "name"}} {
		set := New(&rest.Config{Host: "http://api", Transport: &leases{}}, SetOptions{Controllers: []string{"ttl"}, Lease: l})
		require.ErrorIs(t, set.Run(t.Context()), errUnnamedLease, "%+v", *l)
	}
}

// lateLease sends no request before the Lease is renewed.
type lateLease struct {
	*inMemory
	renewed time.Time
}

func (l lateLease) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	if time.Now().Before(l.renewed) {
		return nil, fmt.Errorf("PATCH http://api: %w", ErrLeaseLost)
	}
	return l.inMemory.Do(ctx, r)
}

// A request that waits for the renewal of the Lease is no veto: its key is tried again at once and not after ten minutes.
// Nobody refused it, so there is no event of a failure.
func TestLeaseThatIsNotRenewedHoldsAKeyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, retries, actions := time.Now(), 0, 0
		m := newInMemory(largecluster.Cluster{})
		c, err := NewResourceClaim(Cluster{
			Informers: m.informer, Client: lateLease{m, start.Add(2 * time.Second)}, Lookup: LookupFor(m, nil),
			Record: func(e purekube.Event) { t.Error(e) },
			Hooks: Hooks{
				OnRetry: func(r Retry) {
					retries++
					if !strings.Contains(r.Err.Error(), ErrLeaseLost.Error()) {
						t.Error(r.Err)
					}
				},
				OnAction: func(r ActionResult) {
					actions++
					if r.Vetoed || r.Err != nil || time.Since(start) < 2*time.Second || time.Since(start) > 5*time.Second {
						t.Error(time.Since(start), r)
					}
				},
			},
		}, resourceclaim.Options{})
		require.NoError(t, err)
		pod := purekubetest.Pod("ml/train")
		purekubetest.ClaimFor(pod, "gpu")
		pod.Status.ResourceClaimStatuses = nil
		m.server.Put(pod)
		m.server.Put(&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName}})
		m.start()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Minute)
		cancel()
		running.Wait()
		require.Equal(t, 2, actions, "the claim, and the pod's status")
		require.InDelta(t, 9, retries, 2, "with longer and longer pauses")
	})
}
