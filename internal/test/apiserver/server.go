// Package apiserver is an API server in memory, with as much as the plans of this module write to: it executes a
// [purekube.Request]. Tests and examples simulate a cluster with it.
//
// It has resourceVersions that conflict, generateName, finalizers that delay a deletion, preconditions, subresources
// that change nothing but the status, and server-side apply with field managers for the fields that the packages apply.
// It validates nothing else, deletes no dependents and has no admission; Refuse simulates these.
//
// internal/test/e2e compares its answers with the answers of the real API server, for each action of the packages.
// There are five known differences. Only an apply makes a manager of a field; a create or an update does not. An update
// without a resourceVersion succeeds; the real API server rejects such an update of a PodDisruptionBudget. A write of a
// status never changes anything else; the real API server also updates the labels of a PodDisruptionBudget. A deletion
// answers with the object. An apply that leaves no claim in a pod's status empties the list, as in v1.36; v1.37 keeps
// what is in it.
package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// Server holds objects. It belongs to one goroutine.
type Server struct {
	// Now is the time of deletions.
	Now time.Time
	// Refuse is asked before each request; an error that it returns is the answer. Nil: no
	// request is refused.
	Refuse func(purekube.Request) error
	// Changed is told of each object that is stored, and of each that is gone. The object is the
	// server's own, which never changes: nobody may write to it. Nil: nobody is told.
	Changed func(o Object, gone bool)

	objects  map[place]Object
	managed  map[place]fieldManagers
	revision int
	names    int
}

// Object is a pointer to an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// place is where an object is kept.
type place struct {
	resource schema.GroupVersionResource
	name     types.NamespacedName
}

// New returns a server with copies of the objects. An object of a kind that no plan writes to or
// reads is a mistake of the caller, and a panic.
func New(objects ...Object) *Server {
	s := &Server{objects: map[place]Object{}, managed: map[place]fieldManagers{}}
	for _, o := range objects {
		s.Put(o)
	}
	return s
}

// Put stores a copy of the object, whatever is there: what happens to a cluster besides the requests
// of a plan. It gives the object a UID if it has none, and the next resourceVersion.
func (s *Server) Put(o Object) {
	resource := resourceOf(o)
	at := place{resource, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
	o = typed(o)
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%s-%s", resource.Resource, o.GetName())))
	}
	s.store(at, o)
}

// Remove takes the object away at once.
func (s *Server) Remove(o Object) {
	at := place{resourceOf(o), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
	s.remove(at)
}

// List returns copies of all objects of a type, sorted by namespace and name.
func List[T any, P interface {
	*T
	Object
}](s *Server) []P {
	var found []P
	for _, o := range s.objects {
		if o, ok := o.(P); ok {
			found = append(found, o.DeepCopyObject().(P))
		}
	}
	slices.SortFunc(found, func(a, b P) int {
		return persistent.CompareNames(types.NamespacedName{Namespace: a.GetNamespace(), Name: a.GetName()},
			types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()})
	})
	return found
}

// All returns copies of all objects, sorted by resource, namespace and name.
func (s *Server) All() []Object {
	places := slices.Collect(maps.Keys(s.objects))
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.resource.String(), b.resource.String()), persistent.CompareNames(a.name, b.name))
	})
	all := make([]Object, 0, len(places))
	for _, at := range places {
		all = append(all, s.objects[at].DeepCopyObject().(Object))
	}
	return all
}

// of returns the server's own objects of a resource, sorted by namespace and name. Nobody may write to them.
func (s *Server) of(resource schema.GroupVersionResource) []Object {
	var names []types.NamespacedName
	for at := range s.objects {
		if at.resource == resource {
			names = append(names, at.name)
		}
	}
	slices.SortFunc(names, persistent.CompareNames)
	objects := make([]Object, 0, len(names))
	for _, name := range names {
		objects = append(objects, s.objects[place{resource, name}])
	}
	return objects
}

// Do executes the request and returns a copy of the new object. After a deletion it returns the object before the
// deletion, or with its deletion timestamp if finalizers delay the deletion. The errors are an API server's errors,
// with their codes.
func (s *Server) Do(r purekube.Request) (runtime.Object, error) {
	if s.Refuse != nil {
		if err := s.Refuse(r); err != nil {
			return nil, err
		}
	}
	k, known := kinds[r.Resource]
	if !known {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	at := place{r.Resource, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
	var after Object
	var err error
	switch r.Verb {
	case "create":
		after, err = s.create(at, r)
	case "update":
		after, err = s.update(at, r)
	case "patch":
		after, err = s.patch(at, r, k)
	case "delete":
		after, err = s.delete(at, r)
	default:
		err = apierrors.NewMethodNotSupported(r.Resource.GroupResource(), r.Verb)
	}
	if err != nil {
		return nil, err
	}
	return after.DeepCopyObject(), nil
}

// store keeps the object under a new resourceVersion, or takes it away when it waits for nothing but that. What changes
// nothing leaves the object as it is, its resourceVersion too.
func (s *Server) store(at place, o Object) Object {
	if before := s.objects[at]; before != nil {
		o.SetResourceVersion(before.GetResourceVersion())
		if equality.Semantic.DeepEqual(before, o) {
			return before
		}
	}
	return s.storeAnew(at, o)
}

func (s *Server) storeAnew(at place, o Object) Object {
	s.revision++
	o.SetResourceVersion(strconv.Itoa(s.revision))
	// A pod that is given time to terminate waits for its kubelet.
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 &&
		ptr.Deref(o.GetDeletionGracePeriodSeconds(), 0) == 0 {
		s.remove(at)
		return o
	}
	s.objects[at] = o
	if s.Changed != nil {
		s.Changed(o, false)
	}
	return o
}

// remove takes an object away. A watch shows it as it was, with the resourceVersion of its removal.
func (s *Server) remove(at place) {
	if o := s.objects[at]; o != nil {
		s.revision++
		o = o.DeepCopyObject().(Object)
		o.SetResourceVersion(strconv.Itoa(s.revision))
		if s.Changed != nil {
			s.Changed(o, true)
		}
	}
	delete(s.objects, at)
	delete(s.managed, at)
}

func (s *Server) create(at place, r purekube.Request) (Object, error) {
	if r.Object == nil {
		return nil, apierrors.NewBadRequest("no object")
	}
	o := typed(r.Object)
	if o.GetName() == "" {
		if o.GetGenerateName() == "" {
			return nil, invalid(r, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
		}
		s.names++
		o.SetName(fmt.Sprintf("%s%05d", o.GetGenerateName(), s.names))
	}
	at.name.Name = o.GetName()
	if s.objects[at] != nil {
		return nil, apierrors.NewAlreadyExists(r.Resource.GroupResource(), o.GetName())
	}
	o.SetNamespace(r.Namespace)
	s.names++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.names)))
	o.SetCreationTimestamp(metav1.NewTime(s.Now))
	return s.store(at, o), nil
}

func (s *Server) update(at place, r purekube.Request) (Object, error) {
	before, err := s.find(at, r)
	if err != nil {
		return nil, err
	}
	if r.Object == nil {
		return nil, apierrors.NewBadRequest("no object")
	}
	o, ok := r.Object.DeepCopyObject().(Object)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is no object", r.Object))
	}
	// In an update the UID is a precondition; in a patch it is a field that cannot change.
	if o.GetUID() != "" && o.GetUID() != before.GetUID() {
		return nil,
			conflict(r, "the UID in the precondition (%s) is not that of the object (%s)", o.GetUID(), before.GetUID())
	}
	if err := sameObject(before, o, r); err != nil {
		return nil, err
	}
	return s.store(at, merged(before, o, r.Subresource)), nil
}

func (s *Server) delete(at place, r purekube.Request) (Object, error) {
	before, err := s.find(at, r)
	if err != nil {
		return nil, err
	}
	if p := r.Preconditions; p != nil {
		if p.UID != nil && *p.UID != before.GetUID() {
			return nil, conflict(r, "the UID in the precondition (%s) is not that of the object (%s)", *p.UID, before.GetUID())
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != before.GetResourceVersion() {
			return nil, conflict(r, "the resourceVersion in the precondition is not that of the object")
		}
	}
	o := before.DeepCopyObject().(Object)
	if len(o.GetFinalizers()) == 0 {
		s.remove(at)
		return o, nil
	}
	if o.GetDeletionTimestamp() == nil {
		o.SetDeletionTimestamp(&metav1.Time{Time: s.Now})
	}
	return s.store(at, o), nil
}

func (s *Server) find(at place, r purekube.Request) (Object, error) {
	o := s.objects[at]
	if o == nil {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	return o, nil
}

// sameObject refuses a write that is meant for another object of the name, or another version of it.
func sameObject(before, o Object, r purekube.Request) error {
	if o.GetResourceVersion() != "" && o.GetResourceVersion() != before.GetResourceVersion() {
		return conflict(r, "the object has been modified; please apply your changes to the latest version and try again")
	}
	if o.GetUID() != "" && o.GetUID() != before.GetUID() {
		return immutableUID(r, o.GetUID())
	}
	return nil
}

func immutableUID(r purekube.Request, uid types.UID) error {
	return invalid(r, field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable"))
}

func invalid(r purekube.Request, err *field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: r.Resource.Group, Kind: r.Resource.Resource}, r.Name,
		field.ErrorList{err})
}

func conflict(r purekube.Request, format string, args ...any) error {
	return apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf(format, args...))
}

// QuotaExceeded is the answer of an API server that a quota keeps from creating an object: 403.
func QuotaExceeded(r purekube.Request) error {
	return apierrors.NewForbidden(r.Resource.GroupResource(), r.Name,
		fmt.Errorf("exceeded quota: count/%s", r.Resource.Resource))
}
