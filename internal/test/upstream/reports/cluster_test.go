package reports

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// TestMain silences the controllers. The logger has to be there before the first bubble, since klog starts goroutines
// for its files. The handlers of errors would log them and then sleep until the clock of the last bubble comes round.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// expectDefect runs reproduce in a bubble. reproduce is the test that Kubernetes should pass: it returns what is wrong.
// The test passes while something is wrong, and fails when a release has fixed it.
func expectDefect(t *testing.T, page string, reproduce func(t *testing.T) error) {
	t.Helper()
	var defect error
	synctest.Test(t, func(t *testing.T) { defect = reproduce(t) })
	switch {
	case t.Failed(): // the cluster of the report did not come about
	case defect == nil:
		t.Errorf("%s no longer does what docs/upstream/%s reports: remove the page and this test, and see the divergence",
			release, page)
	default:
		t.Logf("docs/upstream/%s, %s: %v", page, release, defect)
	}
}

// lag is how long the watches of a resource take to deliver an event; usualLag where nothing else is said.
type lag map[string]time.Duration

const usualLag = 100 * time.Millisecond

// newCluster is client-go's fake clientset with three things that an API server does: it makes up names, it keeps an
// object until its last finalizer is gone, and it sends no event for a write that changes nothing.
func newCluster(t *testing.T, lag lag, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset(objects...)
	tracker := client.Tracker()
	store := clienttesting.ObjectReaction(tracker)
	created := 0
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		resource, namespace := action.GetResource(), action.GetNamespace()
		switch a := action.(type) {
		case clienttesting.CreateActionImpl:
			if o := a.Object.(metav1.Object); o.GetName() == "" {
				created++
				o.SetName(fmt.Sprintf("%s%05d", o.GetGenerateName(), created))
			}
		case clienttesting.DeleteActionImpl:
			found, err := tracker.Get(resource, namespace, a.Name)
			if err != nil {
				return true, nil, err
			}
			if o := found.(metav1.Object); len(o.GetFinalizers()) > 0 {
				if o.GetDeletionTimestamp() == nil {
					now := metav1.Now()
					o.SetDeletionTimestamp(&now)
				}
				return true, nil, tracker.Update(resource, found, namespace)
			}
		}
		handled, stored, err := store(action)
		o, isObject := stored.(metav1.Object)
		if isObject && err == nil && o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
			err = tracker.Delete(resource, namespace, o.GetName())
		}
		return handled, stored, err
	})
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		options := action.(clienttesting.WatchActionImpl).ListOptions
		events, err := tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		if err != nil {
			return true, nil, err
		}
		by, given := lag[action.GetResource().Resource]
		if !given {
			by = usualLag
		}
		return true, late(events, by), nil
	})
	return client
}

// late delivers each event of a watch later, and no event that changes nothing.
func late(events watch.Interface, by time.Duration) watch.Interface {
	type dueEvent struct {
		watch.Event
		due time.Time
	}
	waiting, delivered := make(chan dueEvent, 100_000), make(chan watch.Event)
	proxy := watch.NewProxyWatcher(delivered)
	go func() {
		defer events.Stop()
		last := map[string]runtime.Object{}
		for {
			select {
			case <-proxy.StopChan():
				return
			case e := <-events.ResultChan():
				o := e.Object.DeepCopyObject().(metav1.Object)
				o.SetManagedFields(nil) // they have the time of the write
				key := o.GetNamespace() + "/" + o.GetName()
				if e.Type == watch.Modified && reflect.DeepEqual(last[key], o) {
					continue
				}
				last[key] = o.(runtime.Object)
				waiting <- dueEvent{Event: e, due: time.Now().Add(by)}
			}
		}
	}()
	go func() {
		for {
			select {
			case <-proxy.StopChan():
				return
			case e := <-waiting:
				select {
				case <-proxy.StopChan():
					return
				case <-time.After(time.Until(e.due)):
				}
				select {
				case <-proxy.StopChan():
					return
				case delivered <- e.Event:
				}
			}
		}
	}()
	return proxy
}

// A builder builds a controller and returns the function that runs it.
type builder func(ctx context.Context, f informers.SharedInformerFactory) (run func(context.Context))

// start runs a controller on the cluster until the test ends: its informers first, then the controller. It returns when
// the controller has had time for what the cluster has.
func start(t *testing.T, client *fake.Clientset, build builder) {
	t.Helper()
	ctx := klog.NewContext(t.Context(), logr.Discard())
	factory := informers.NewSharedInformerFactory(client, 0)
	run := build(ctx, factory)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(factory.Shutdown)
	go run(ctx)
	time.Sleep(10 * time.Second)
}
