package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// manager is a controller manager as a process: examples/manager, examples/controller-runtime or kube-controller-manager.
type manager struct {
	*cluster.Process
	url, health string // where its metrics and its health checks are
	log         string
}

// pages does not ask who a controller is: kube-controller-manager makes a certificate for itself.
var pages = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// ready asks the manager whether it is ready.
func (m *manager) ready(context.Context) error {
	_, err := page(m.health + "/readyz")
	return err
}

// get reads a page of the manager.
func (m *manager) get(path string) (string, error) { return page(m.url + path) }

func page(url string) (string, error) {
	answer, err := pages.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(body), err
}

// stop ends the manager, and holds that it does so in good order.
func (m *manager) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, m.Stop())
	checkLog(t, m.log)
}

// checkLog looks for what must never be in the log of a controller.
func checkLog(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, never := range []string{"panic", "DATA RACE", "is forbidden: User"} {
		if i := strings.Index(string(content), never); i >= 0 {
			t.Errorf("the log %s has %q: %s", path, never, content[i:min(len(content), i+2000)])
		}
	}
}

// killer runs a manager and kills it time and again, until it is told to let it live.
type killer struct {
	current *manager
	kills   int
	now     chan struct{}
	stop    chan struct{}
	done    sync.WaitGroup
}

// untilDeleted is longer than the grace period of a ServiceCIDR, which each manager counts from its own first sight.
const untilDeleted = 15 * time.Second

// startKiller lets each manager live for a random time up to the longest, and every eighth one for untilDeleted.
func startKiller(longest time.Duration, random *rand.Rand, start func() *manager) *killer {
	k := &killer{current: start(), now: make(chan struct{}, 1), stop: make(chan struct{})}
	k.done.Go(func() {
		for {
			now, end := k.now, time.After(time.Duration(random.Int64N(int64(longest))))
			if k.kills%8 == 7 {
				now, end = nil, time.After(untilDeleted)
			}
			select {
			case <-k.stop:
				return
			case <-now:
				time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond)))) // in the middle of its work
			case <-end:
			}
			k.current.Kill()
			k.kills++
			k.current = start()
			time.Sleep(700 * time.Millisecond) // enough to get to work
		}
	})
	return k
}

// soon kills the manager within moments.
func (k *killer) soon() {
	select {
	case k.now <- struct{}{}:
	default: // it is about to be
	}
}

// let ends the killing and returns the last manager, which runs.
func (k *killer) let() *manager {
	close(k.stop)
	k.done.Wait()
	return k.current
}

// pair runs two managers and kills the one that leads, time and again.
type pair struct {
	managers []*manager
	kills    int
	stop     chan struct{}
	done     sync.WaitGroup
}

// startPair lets each manager lead for six seconds, and every fourth one for untilDeleted. A manager that ends by itself, since
// it lost its Lease, is started again, as by its Deployment.
func startPair(w *world, start func() *manager) *pair {
	p := &pair{managers: []*manager{start(), start()}, stop: make(chan struct{})}
	p.done.Go(func() {
		var leader *manager
		var since time.Time
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(250 * time.Millisecond):
			}
			for i, m := range p.managers {
				life := 6 * time.Second
				if p.kills%4 == 3 {
					life = untilDeleted
				}
				switch {
				case m.hasEnded():
					p.managers[i] = start()
				case !m.leads():
				case m != leader:
					leader, since = m, time.Now()
				case time.Since(since) > life:
					m.Kill()
					p.kills++
					_ = w.shortenLease() // or the next leader has to wait, which is fine
					p.managers[i] = start()
				}
			}
		}
	})
	return p
}

// hasEnded reports whether the manager's process is gone.
func (m *manager) hasEnded() bool {
	select {
	case <-m.Ended():
		return true
	default:
		return false
	}
}

func (p *pair) let() []*manager {
	close(p.stop)
	p.done.Wait()
	return p.managers
}

// shortenLease lets the Lease of a killed leader end three seconds from now: most scenarios would end before it does.
func (w *world) shortenLease() error {
	_, err := w.CoordinationV1().Leases("purekube").Patch(context.Background(), "purekube-manager", types.MergePatchType,
		[]byte(`{"spec":{"leaseDurationSeconds":3}}`), metav1.PatchOptions{})
	return err
}

// leads reports whether the manager says that it holds the Lease.
func (m *manager) leads() bool {
	page, err := m.get("/metrics")
	return err == nil && strings.Contains(page, `leader_election_master_status{name="purekube-manager"} 1`)
}
