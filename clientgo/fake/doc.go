// Package fake makes client-go's fake clientset answer controllers as an API server does, for tests of programs that
// run them.
//
//	clientset := fake.NewClientset(objects...)
//	client := clientgo.DynamicExecutor{Client: fake.NewDynamicClient(clientset)}
//	factory := informers.NewSharedInformerFactory(clientset, 0)
//
// Both clients and the informers have the same objects. What client-go's fakes leave out and controllers need:
//
//   - a name for an object with generateName, and a UID, a creationTimestamp and a resourceVersion for each object
//   - a resourceVersion for each deletion: watches see the object with that version first, and then its deletion
//   - a conflict where an update, a patch or a deletion names another UID or resourceVersion than the object has
//   - finalizers: an object that has some stays, with a deletionTimestamp, until the last of them is removed
//   - strategic merge patches and server-side apply by the dynamic client
//
// There is no validation, no defaulting, no garbage collection, no generation, and no subresource but status: a get of
// another one is 404. Reactors of yours come first, on the clientset, whichever client makes the request: they inject
// errors, and answer for a scale. Package sigs.k8s.io/controller-runtime/pkg/envtest runs a real API server.
package fake
