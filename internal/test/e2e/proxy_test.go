package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/internal/test/seed"
)

// fault is what a proxy does to a request in place of the API server.
type fault string

const (
	none         fault = ""
	internal     fault = "500"
	conflict     fault = "409"
	invalid      fault = "422"
	tooMany      fault = "429" // with Retry-After
	slow         fault = "slow"
	disconnected fault = "away"
	hanging      fault = "hanging" // a watch that begins and shows nothing
)

var allFaults = []fault{internal, conflict, invalid, tooMany, slow, disconnected}

// proxy stands between a manager and the API server. What it does to which request is up to decide.
type proxy struct {
	cluster.Endpoint

	mu          sync.Mutex
	decide      func(*http.Request) fault
	requests    map[string]int // by method and path, those that are no watch
	connections map[net.Conn]bool
}

// newProxy passes everything on until it is told otherwise.
func newProxy(t *testing.T, w *world) *proxy {
	t.Helper()
	target, err := url.Parse(w.URL)
	require.NoError(t, err)
	config, err := rest.TLSConfigFor(w.Config(cluster.Admin))
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.FlushInterval = -1 // watches
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12}}
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }

	p := &proxy{requests: map[string]int{}, connections: map[net.Conn]bool{}}
	p.set(func(*http.Request) fault { return none })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.inject(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if state == http.StateClosed || state == http.StateHijacked {
			delete(p.connections, c)
		} else {
			p.connections[c] = true
		}
	}
	server.StartTLS()
	t.Cleanup(func() {
		p.cut() // watches would go on
		server.Close()
	})
	p.Endpoint = cluster.Endpoint{URL: server.URL, CAFile: filepath.Join(w.folder, "proxy.crt")}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(p.CAFile, certificate, 0o600))
	return p
}

// set decides from now on.
func (p *proxy) set(decide func(*http.Request) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decide = decide
}

// cut ends all connections, watches too.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.connections {
		_ = c.Close()
	}
}

// count is how many requests there were since the last count.
func (p *proxy) count() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counted := p.requests
	p.requests = map[string]int{}
	return counted
}

// inject answers the request itself, if it is to go wrong.
func (p *proxy) inject(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	what := p.decide(r)
	if !isWatch(r) {
		p.requests[r.Method+" "+r.URL.Path]++
	}
	p.mu.Unlock()
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "injected", Details: &metav1.StatusDetails{}}
	switch what {
	case internal:
		status.Code, status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
	case conflict:
		status.Code, status.Reason = http.StatusConflict, metav1.StatusReasonConflict
	case invalid:
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	case tooMany:
		status.Code, status.Reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
		w.Header().Set("Retry-After", "2")
	case slow:
		time.Sleep(3 * time.Second)
		return false
	case disconnected:
		panic(http.ErrAbortHandler) // which closes the connection
	case hanging:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	default:
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
	return true
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// isEvent is a request that may be lost: nothing hangs on events.
func isEvent(r *http.Request) bool { return strings.Contains(r.URL.Path, "/events") }

func isWrite(r *http.Request) bool { return r.Method != http.MethodGet }

// One of three requests of the manager goes wrong, in all ways, and now and then the API server is away for
// everybody. All stories end as they do otherwise.
func TestStoriesWithFaults(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		p := newProxy(t, w)
		m := w.start(t, of, "manager", p.Endpoint, of.alone...)
		random := rand.New(rand.NewPCG(seed.First(t, 1), 0))
		p.set(func(r *http.Request) fault { // called with the proxy locked
			if isWatch(r) || isEvent(r) || random.IntN(3) > 0 {
				return none
			}
			return allFaults[random.IntN(len(allFaults))]
		})
		stop := make(chan struct{})
		var cutting sync.WaitGroup
		cutting.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Second):
					p.cut()
				}
			}
		})
		w.play(t)
		close(stop)
		cutting.Wait()
		p.set(func(*http.Request) fault { return none })
		w.atRest(t, m)
		m.stop(t)
	})
}

// While every write goes wrong, the manager tries again with pauses; afterwards, it does what there is to do.
func TestNoHotLoop(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		p := newProxy(t, w)
		m := w.start(t, of, "manager", p.Endpoint, of.alone...)
		w.still(t, 2*time.Second)
		for i, what := range allFaults {
			t.Run(string(what), func(t *testing.T) {
				p.set(func(r *http.Request) fault {
					if isWrite(r) && !isEvent(r) {
						return what
					}
					return none
				})
				if what == disconnected { // for reads and watches as well
					p.set(func(*http.Request) fault { return what })
					p.cut()
				}
				p.count()
				name := fmt.Sprintf("fault-%d", i)
				rule := ruleFor(name)
				w.createRole(t, name, nil, labelled(name))
				w.createRole(t, name+"-source", map[string]string{name: "true"}, nil, rule)
				time.Sleep(10 * time.Second)
				counted := p.count()
				for request, times := range counted {
					// 5 ms, 10 ms, … 5 s are 11 attempts in 10 seconds; an event in between is one more. A list that
					// fails is client-go's to try again.
					require.LessOrEqual(t, times, 15, "%s: %v", request, counted)
				}
				p.set(func(*http.Request) fault { return none })
				eventually(t, patience, "the role has its rule", w.roleIs(name, rule))
			})
		}
		m.stop(t)
	})
}

// A manager that cannot renew its Lease ends, with a failure: another one may be at work.
func TestLostLease(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		p := newProxy(t, w)
		m := w.start(t, of, "manager", p.Endpoint, of.elected...)
		eventually(t, patience, "the manager leads", func(context.Context) error {
			return expect("leading", true, m.leads())
		})
		p.set(func(r *http.Request) fault {
			if strings.Contains(r.URL.Path, "/leases") {
				return internal
			}
			return none
		})
		select {
		case <-m.Ended():
		case <-time.After(patience):
			m.Kill()
			t.Fatal("still there")
		}
		require.ErrorContains(t, m.Stop(), "exit status")
	})
}
