package parity

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Epoch is when every bubble begins. No time passes before a script sleeps, so it is also
// the time of each decision, to the nanosecond.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// The World is the cluster that a controller sees. Its caches have the objects that they are given. Its client records
// each request, answers it, and changes nothing: the next decision depends on the same snapshot unless a script says
// otherwise.
type World struct {
	// Client and Informers are for the controller's constructor.
	Client    *fake.Clientset
	Informers informers.SharedInformerFactory

	// Respond answers a request; nil, or a nil object together with a nil error, means
	// the usual answer: the object as it was sent, a made-up name where the server makes one
	// up (see GeneratedName), an empty object for a patch.
	Respond func(Request) (runtime.Object, error)
	// Serve answers every request but those for events, as a whole API server does: nothing is recorded, and Respond is
	// not asked. Nil: the world is one of recorded requests.
	Serve func(clienttesting.Action) (runtime.Object, error)
	// Workers is how many the controller is to run: one in comparisons, which keeps the order
	// of requests the same every time.
	Workers int
	// FailedKey names the object that a controller's error is about, for Trace.Failed.
	FailedKey func(Failure) string

	caches    map[reflect.Type]*informer
	loaded    []runtime.Object
	generated map[string]int
	run       func() // starts the controller; nil: done
	onRequest func()
	quick     bool // count requests, do not read them

	mu     sync.Mutex
	trace  Trace
	events map[string]*corev1.Event // by name, those recorded
}

// Failure is what a controller handed to utilruntime.HandleError and its relatives.
type Failure struct {
	Err           error
	Message       string
	KeysAndValues []any
}

// Value is what the failure says about key, as text; empty if nothing.
func (f Failure) Value(key string) string {
	for i := 0; i+1 < len(f.KeysAndValues); i += 2 {
		if f.KeysAndValues[i] == key {
			return fmt.Sprint(f.KeysAndValues[i+1])
		}
	}
	return ""
}

// A Start builds a controller on the world and returns the function that runs it until its
// context ends, with as many workers as the world says.
type Start func(ctx context.Context, w *World) (run func(context.Context), err error)

// kinds are the objects that any of the controllers keeps in a cache.
var kinds = []runtime.Object{
	&corev1.Node{}, &corev1.Pod{}, &corev1.ReplicationController{},
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &appsv1.ControllerRevision{},
	&batchv1.Job{}, &corev1.PersistentVolumeClaim{},
	&networkingv1.IPAddress{}, &networkingv1.ServiceCIDR{},
	&policyv1.PodDisruptionBudget{},
	&rbacv1.ClusterRole{},
	&resourcev1.ResourceClaim{}, &resourcev1.ResourceClaimTemplate{},
}

func newWorld() *World {
	w := &World{
		Client:    &fake.Clientset{}, // without the tracker: nothing is stored, nothing is looked up
		caches:    map[reflect.Type]*informer{},
		generated: map[string]int{},
		Workers:   1,
		events:    map[string]*corev1.Event{},
	}
	w.Client.AddReactor("*", "*", w.react)
	w.Informers = informers.NewSharedInformerFactory(w.Client, 0)
	for _, kind := range slices.Concat(kinds, releaseKinds()) {
		i := newInformer(kind)
		w.caches[reflect.TypeOf(kind)] = i
		w.Informers.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return i })
	}
	return w
}

// Run runs a controller in a bubble on a cluster with the objects, and the script beside it. When the script begins,
// the controller has heard of every object and has yet to start, which it does when the script settles for the first
// time.
func Run(t *testing.T, objects []runtime.Object, start Start, script func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		run, stop, err := w.build(objects, start)
		if err != nil {
			t.Fatalf("the controller cannot be built: %v", err)
		}
		defer stop()
		w.announce()
		w.run = run
		script(t, w)
	})
}

// build builds the controller and fills the caches. It returns what sets it going, in a goroutine of its own, and what
// ends it then.
func (w *World) build(objects []runtime.Object, start Start) (run, stop func(), err error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	controller, err := start(ctx, w)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	restore := w.catchErrors()
	w.Load(objects...)
	var running sync.WaitGroup
	run = func() { running.Go(func() { controller(ctx) }) }
	stop = func() {
		cancel()
		running.Wait()
		restore()
	}
	return run, stop, nil
}

// catchErrors takes the place of the handlers that would log an error, and sleep after it.
func (w *World) catchErrors() (restore func()) {
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(_ context.Context, err error, message string, keysAndValues ...any) {
			failure := Failure{Err: err, Message: message, KeysAndValues: keysAndValues}
			key := fmt.Sprintf("%s %v %v", message, err, keysAndValues)
			if w.FailedKey != nil {
				key = w.FailedKey(failure)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.trace.Failed = append(w.trace.Failed, key)
		},
	}
	return func() { utilruntime.ErrorHandlers = before }
}

// Load puts objects into the caches without a word to the controller.
func (w *World) Load(objects ...runtime.Object) {
	for _, o := range objects {
		if err := w.cacheOf(o).GetIndexer().Add(o); err != nil {
			panic(err)
		}
	}
	w.loaded = append(w.loaded, objects...)
}

// Unload takes objects out of the caches without a word to the controller.
func (w *World) Unload(objects ...runtime.Object) {
	for _, o := range objects {
		if err := w.cacheOf(o).GetIndexer().Delete(o); err != nil {
			panic(err)
		}
	}
}

// announce tells the controller's handlers about every loaded object, in order.
func (w *World) announce() {
	for _, o := range w.loaded {
		for _, h := range w.cacheOf(o).handlers {
			h.OnAdd(o, true)
		}
	}
	w.loaded = nil
}

// Add is a new object: in the cache, then told.
func (w *World) Add(object runtime.Object) {
	i := w.cacheOf(object)
	if err := i.GetIndexer().Add(object); err != nil {
		panic(err)
	}
	for _, h := range i.handlers {
		h.OnAdd(object, false)
	}
}

// Update changes an object: first in the cache, then in an event with the previous object.
func (w *World) Update(object runtime.Object) {
	i := w.cacheOf(object)
	before, known, err := i.GetIndexer().Get(object)
	if err != nil || !known {
		panic(fmt.Sprintf("update of an object that is not there: %v", err))
	}
	if err := i.GetIndexer().Update(object); err != nil {
		panic(err)
	}
	for _, h := range i.handlers {
		h.OnUpdate(before, object)
	}
}

// Delete is an object that is gone. Where the informer missed that and found out later, the
// handlers get a tombstone.
func (w *World) Delete(object runtime.Object, missed bool) {
	i := w.cacheOf(object)
	if err := i.GetIndexer().Delete(object); err != nil {
		panic(err)
	}
	var told any = object
	if missed {
		key, err := cache.MetaNamespaceKeyFunc(object)
		if err != nil {
			panic(err)
		}
		told = cache.DeletedFinalStateUnknown{Key: key, Obj: object}
	}
	for _, h := range i.handlers {
		h.OnDelete(told)
	}
}

func (w *World) cacheOf(object runtime.Object) *informer {
	i, ok := w.caches[reflect.TypeOf(object)]
	if !ok {
		panic(fmt.Sprintf("no controller keeps a %T; see kinds", object))
	}
	return i
}

// Settle waits until the controller has nothing left to do at this moment, and returns what
// it did since the last time. No time passes, so that nothing is tried twice. The first time,
// it starts the controller.
func (w *World) Settle() Trace {
	if w.run != nil {
		w.run()
		w.run = nil
	}
	synctest.Wait()
	return w.take()
}

// Sleep lets time pass, and settles.
func (w *World) Sleep(d time.Duration) Trace {
	time.Sleep(d)
	return w.Settle()
}

func (w *World) take() Trace {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.trace
	w.trace = Trace{}
	return taken
}

// react records a request, and answers it.
func (w *World) react(action clienttesting.Action) (handled bool, answer runtime.Object, err error) {
	if action.GetResource().Resource == "events" {
		return true, w.recordEvent(action), nil
	}
	if w.Serve != nil {
		answer, err := w.Serve(action)
		return true, answer, err
	}
	if w.onRequest != nil {
		defer w.onRequest()
	}
	if !w.quick {
		r, ok := requestOf(action)
		if !ok {
			return true, nil, fmt.Errorf("unexpected request %s %s", action.GetVerb(), action.GetResource())
		}
		w.mu.Lock()
		w.trace.Requests = append(w.trace.Requests, r)
		w.mu.Unlock()
		if w.Respond != nil {
			if answer, err := w.Respond(r); answer != nil || err != nil {
				return true, answer, err
			}
		}
	}
	switch a := action.(type) {
	case clienttesting.UpdateActionImpl:
		return true, a.Object, nil
	case clienttesting.CreateActionImpl:
		return true, w.named(a.Namespace, a.Object), nil
	}
	return true, nil, nil
}

// named gives an object the name that the API server would make up.
func (w *World) named(namespace string, object runtime.Object) runtime.Object {
	object = object.DeepCopyObject()
	if o, ok := object.(metav1.Object); ok && o.GetName() == "" {
		of := namespace + "/" + o.GetGenerateName()
		w.generated[of]++
		o.SetName(GeneratedName(o.GetGenerateName(), w.generated[of]))
		o.SetNamespace(namespace)
	}
	return object
}

// GeneratedName is the name that the nth object made with this generateName in a namespace gets.
func GeneratedName(generateName string, nth int) string {
	return fmt.Sprintf("%s%05d", generateName, nth)
}

// recordEvent takes note of a recorded event and answers with it. One that is like one before
// comes as a patch of that.
func (w *World) recordEvent(action clienttesting.Action) runtime.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &corev1.Event{}
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		e = a.Object.(*corev1.Event)
		w.events[e.Name] = e
	case clienttesting.PatchActionImpl:
		if before, ok := w.events[a.Name]; ok {
			e = before
		}
	}
	about := e.InvolvedObject
	w.trace.Events = append(w.trace.Events, Event{
		Type: e.Type, Reason: e.Reason, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name,
		Message: e.Message,
	})
	return e
}

// Before is a Start that prepares the world first, for example with a Respond.
func Before(start Start, prepare func(w *World)) Start {
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		prepare(w)
		return start(ctx, w)
	}
}
