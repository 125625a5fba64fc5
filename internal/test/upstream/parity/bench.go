package parity

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// SideBySide measures the real controller and ours on one snapshot, in one run.
//
// Ours is what Benchmark reports itself: from the snapshot to the bodies of all requests,
// everything that plan does included, in one goroutine.
//
// The real controller is measured from the moment it hears of the first object, with its caches
// filled before, to its last request. Nothing in that time is waiting. It has the workers that
// kube-controller-manager gives it by default. Two shares of that time are reported as well: hearing
// of the objects, in which it decides what to queue, and what the recording client takes for
// the requests, measured on its own.
//
// The metrics: upstream-ns/op, heard-ns/op, client-ns/op, requests, and ratio: upstream without
// the client's time to ours.
func SideBySide(b *testing.B, workers int, objects []runtime.Object, start Start, plan func() (requests int)) {
	b.Helper()
	requests := plan()
	if requests == 0 {
		b.Fatal("a snapshot with nothing to do measures nothing")
	}
	b.ReportAllocs()
	for b.Loop() {
		if plan() != requests {
			b.Fatal("two plans for one snapshot differ")
		}
	}
	ours := b.Elapsed() / time.Duration(b.N)

	// Three runs, or more where they are short; the fastest is the least disturbed one.
	var upstream, heard, client time.Duration
	for runs, began := 0, time.Now(); runs < 3 || time.Since(began) < 2*time.Second; runs++ {
		took, hearing, recording := runOnce(b, workers, objects, start, requests)
		if runs == 0 || took < upstream {
			upstream, heard, client = took, hearing, recording
		}
		if runs == 0 && took > 10*time.Second {
			break
		}
	}
	b.ReportMetric(float64(upstream), "upstream-ns/op")
	b.ReportMetric(float64(heard), "heard-ns/op")
	b.ReportMetric(float64(client), "client-ns/op")
	b.ReportMetric(float64(upstream-client)/float64(ours), "ratio")
	b.ReportMetric(float64(requests), "requests")
}

// runOnce is the time from the first object that the controller hears of to its last request,
// the part of it in which it hears of objects, and the time that the client takes for the same
// requests on its own.
func runOnce(
	b *testing.B, workers int, objects []runtime.Object, start Start, requests int,
) (took, hearing, recording time.Duration) {
	b.Helper()
	w := newWorld()
	last := make(chan struct{})
	seen := 0
	w.onRequest = func() {
		if seen++; seen == requests {
			close(last)
		}
	}
	w.Workers, w.quick = workers, true
	run, stop, err := w.build(objects, start)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	w.announce()
	hearing = time.Since(began)
	run()
	select {
	case <-last:
	case <-time.After(2 * time.Minute):
		b.Fatalf("the controller does not make the %d requests of the plan", requests)
	}
	took = time.Since(began)
	stop()

	made := w.Client.Actions()
	again := newWorld()
	again.quick = true
	began = time.Now()
	for _, action := range made {
		if _, err := again.Client.Invokes(action, nil); err != nil {
			b.Fatal(err)
		}
	}
	return took, hearing, time.Since(began)
}
