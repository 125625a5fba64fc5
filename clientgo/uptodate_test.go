package clientgo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// removals notes when the first finalizer was removed.
type removals struct {
	mu sync.Mutex
	at time.Time
}

func (r *removals) BeforeSend(_ context.Context, s clientgo.Sending) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, removes := s.Action.(servicecidr.RemoveFinalizer); removes && r.at.IsZero() {
		r.at = time.Now()
	}
	return nil
}

// deleting is a controller whose handlers have just seen that a ServiceCIDR is being deleted. The caches are as new as
// the API server.
type deleting struct {
	*aged
	removals
	begun time.Time
}

// newDeleting begins. The controller logs there, and runs until stop.
func newDeleting(t *testing.T, log slog.Handler) (d *deleting, stop func()) {
	t.Helper()
	d = &deleting{aged: &aged{storage: &storage{revision: 100, changed: 90}, t: t}}
	controller, err := clientgo.NewServiceCIDR(clientgo.Cluster{
		Informers: d.informer, Client: clientgo.DryRun{}, Metadata: d.storage,
		Hooks: clientgo.Hooks{BeforeSend: d.BeforeSend},
	}, servicecidr.Options{})
	require.NoError(t, err)
	d.see()
	gone := purekubetest.ServiceCIDR("free", "10.97.0.0/24")
	gone.DeletionTimestamp, gone.Finalizers = ptr.To(metav1.Now()), []string{servicecidr.Finalizer}
	d.begun = time.Now()
	d.handlers[0].OnAdd(gone, true)
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, controller.Run(logr.NewContext(t.Context(), logr.FromSlogHandler(log)))) })
	return d, func() {
		controller.Stop()
		running.Wait()
	}
}

// removed reports how long after the handlers saw the deletion the finalizer was removed.
func (d *deleting) removed() (after time.Duration, yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at.Sub(d.begun), !d.at.IsZero()
}

func (d *deleting) stays() {
	d.t.Helper()
	_, yes := d.removed()
	require.False(d.t, yes, "a finalizer was removed")
}

func (d *deleting) goes(from, to time.Duration) {
	d.t.Helper()
	after, yes := d.removed()
	require.True(d.t, yes, "no finalizer was removed")
	require.GreaterOrEqual(d.t, after, from)
	require.LessOrEqual(d.t, after, to)
}

// addresses is the handler of IPAddresses.
func (d *deleting) addresses() cache.ResourceEventHandler { return d.handlers[1] }

var usedAddress = purekubetest.Address("10.97.0.7", "shop/web")

func TestServiceCIDRStaysUntilTheCachesAreUpToDate(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		play         func(*deleting)
	}{
		{"nothing changes", "a watch shows that the cache has everything", func(d *deleting) {
			d.play(time.Minute, false)
			d.goes(10*time.Second, 12*time.Second)
			require.Equal(t, 1, d.lists, "one look is enough")
		}},
		{"bookmarks come", "each is newer than the list", func(d *deleting) {
			d.play(9*time.Second, false)
			d.stays()
			d.play(2*time.Minute, true)
			d.goes(10*time.Second, 12*time.Second)
		}},
		{"the watch hangs", "an address is in use that the cache does not show", func(d *deleting) {
			d.change(true)
			d.play(time.Hour, false)
			d.stays()
			require.Less(t, d.lists, 130, "not more than two a minute")
			d.addresses().OnAdd(usedAddress, false)
			d.see()
			d.play(time.Hour, true)
			d.stays()
			d.addresses().OnDelete(usedAddress)
			d.play(10*time.Second, true)
			d.goes(2*time.Hour, 2*time.Hour+time.Second)
		}},
		{"the watch hangs, and the address has gone", "when the cache shows that, the ServiceCIDR goes", func(d *deleting) {
			d.change(true)
			d.play(time.Hour, false)
			d.stays()
			d.see()
			d.play(time.Minute, true)
			d.goes(time.Hour, time.Hour+2*time.Second)
		}},
		{"the API server fails", "nobody knows what changed", func(d *deleting) {
			d.becomes(func() { d.down = errors.New("not today") })
			d.play(time.Hour, true)
			d.stays()
			d.becomes(func() { d.down = nil })
			d.play(time.Minute, true)
			d.goes(time.Hour, time.Hour+31*time.Second)
		}},
		{"nothing is answered", "a connection that died without an error", func(d *deleting) {
			d.becomes(func() { d.hangs = true })
			d.play(time.Hour, true)
			d.stays()
		}},
		{"a restore that the cache has not seen", "its version is that of another history", func(d *deleting) {
			d.becomes(func() { d.revision, d.changed = 50, 50 })
			d.play(time.Hour, false)
			d.stays()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, stop := newDeleting(t, slog.DiscardHandler)
				tc.play(d)
				stop()
			})
		})
	}
}

// A ServiceCIDR whose deletion waits for the caches looks like one that is in use. The log says what it waits for: once
// for each error, after a minute where there is none, and at the end.
func TestServiceCIDRSaysWhatItWaitsFor(t *testing.T) {
	const (
		failing = "Deletions of ServiceCIDRs wait: the API server does not show whether the caches are up to date"
		behind  = "Deletions of ServiceCIDRs wait: caches are behind the API server, or it does not show that they are not"
		over    = "The caches are up to date again: deletions of ServiceCIDRs go on"
	)
	hour := func(d *deleting, becomes func()) {
		d.becomes(becomes)
		d.play(time.Hour, true)
	}
	for _, tc := range []struct {
		name, reason string
		play         func(*deleting)
		want         []string
	}{
		{"nothing waits", "the first look is enough", func(d *deleting) { hour(d, func() {}) }, nil},
		{"no rights", "one line an error", func(d *deleting) {
			hour(d, func() { d.down = errors.New("forbidden") })
			hour(d, func() { d.down = errors.New("not today") })
			hour(d, func() { d.down = nil })
			d.goes(2*time.Hour, 2*time.Hour+31*time.Second)
		}, []string{failing + ": ipaddresses.networking.k8s.io: forbidden", failing + ": ipaddresses.networking.k8s.io: not today", over}},
		{"a cache that is behind for a short time", "that is usual", func(d *deleting) {
			d.change(true)
			d.play(50*time.Second, false)
			d.see()
			d.play(time.Minute, true)
			d.goes(30*time.Second, time.Minute)
		}, nil},
		{"a cache that is behind", "its watch hangs", func(d *deleting) {
			d.change(true)
			d.play(time.Hour, false)
			d.see()
			d.play(time.Hour, true)
		}, []string{behind + " [ipaddresses.networking.k8s.io]", over}},
		{"a cache that is behind after an error", "it has a minute from then", func(d *deleting) {
			d.change(true)
			hour := func(becomes func()) {
				d.becomes(becomes)
				d.play(time.Hour, false)
			}
			hour(func() { d.down = errors.New("not today") })
			d.becomes(func() { d.down = nil })
			d.play(time.Minute, false)
			d.see()
			d.play(time.Minute, true)
			hour(func() {})
		}, []string{failing + ": ipaddresses.networking.k8s.io: not today", over}},
		{"an error after the wait", "nobody waits any more", func(d *deleting) {
			hour(d, func() {})
			hour(d, func() { d.down = errors.New("not today") })
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lines
				d, stop := newDeleting(t, slog.NewJSONHandler(&log, nil))
				tc.play(d)
				stop()
				require.Equal(t, tc.want, log.about("eletions of ServiceCIDRs"), tc.reason)
			})
		})
	}
}

// lines are the lines of a log.
type lines struct{ bytes.Buffer }

// about are the texts of the lines that have this in them, with their errors and caches.
func (l *lines) about(what string) (texts []string) {
	for line := range strings.Lines(l.String()) {
		var got struct {
			Msg, Err string
			Caches   []string
		}
		if json.Unmarshal([]byte(line), &got) != nil || !strings.Contains(got.Msg, what) {
			continue
		}
		if got.Err != "" {
			got.Msg += ": " + got.Err
		}
		if len(got.Caches) > 0 {
			got.Msg += " " + fmt.Sprint(got.Caches)
		}
		texts = append(texts, got.Msg)
	}
	return texts
}

// unversioned is an informer without LastSyncResourceVersion.
type unversioned struct{}

func (unversioned) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return synced{}, nil
}

// Without versions nobody can tell how old the caches are: a controller that never deletes anything, or always, is wrong.
func TestServiceCIDRNeedsVersions(t *testing.T) {
	ready := clientgo.Cluster{
		Informers: func(runtime.Object) (clientgo.Informer, error) { return unversioned{}, nil }, Client: clientgo.DryRun{},
	}
	_, err := clientgo.NewServiceCIDR(ready, servicecidr.Options{})
	require.EqualError(t, err, "servicecidr: no Metadata")
	ready.Metadata = &storage{}
	_, err = clientgo.NewServiceCIDR(ready, servicecidr.Options{})
	require.ErrorContains(t, err, "servicecidr: servicecidrs.networking.k8s.io: its informer has no LastSyncResourceVersion")
}
