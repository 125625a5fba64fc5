package fake

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/purekubetest"
)

// NewClientset returns a clientset with copies of these objects. It panics, as client-go's does, for an object of a
// kind that client-go does not know, and for two objects of one name. Unlike client-go's, it takes the lists of objects
// that package purekubetest makes, and no object that is a list, such as a PodList.
func NewClientset(objects ...purekubetest.Object) *fake.Clientset {
	clientset := fake.NewClientset()
	s := &server{ObjectTracker: clientset.Tracker(), versions: map[schema.GroupVersionResource]int{}}
	s.tracked = testing.ObjectReaction(s)
	for _, o := range objects {
		resource, err := resourceOf(o)
		if err == nil {
			err = s.create(resource, o.DeepCopyObject().(purekubetest.Object))
		}
		if err != nil {
			panic(err)
		}
	}
	clientset.PrependReactor("*", "*", s.react)
	return clientset
}

func resourceOf(o runtime.Object) (schema.GroupVersionResource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource, nil
}

// server answers requests by client-go's tracker of objects. The clientset makes one request at a time, and gives
// copies of what the caller passes.
type server struct {
	testing.ObjectTracker
	tracked testing.ReactionFunc // what the tracker does, with the server's own Patch
	// versions are the resourceVersions of each resource, counted as newer versions of the tracker count them: they grow
	// with each object that it stores.
	versions map[schema.GroupVersionResource]int
	created  int // objects
}

func (s *server) react(action testing.Action) (bool, runtime.Object, error) {
	resource, namespace := action.GetResource(), action.GetNamespace()
	if of := action.GetSubresource(); of != "" && of != "status" {
		return true, nil, apierrors.NewNotFound(resource.GroupResource(), of)
	}
	switch a := action.(type) {
	case testing.CreateActionImpl:
		created := a.Object.(purekubetest.Object)
		return true, created, s.create(resource, created)
	case testing.UpdateActionImpl:
		updated := a.Object.(purekubetest.Object)
		return true, updated, s.replace(resource, updated)
	case testing.PatchActionImpl:
		if a.PatchType != types.ApplyPatchType {
			return s.tracked(action) // which calls Patch
		}
		return s.apply(a)
	case testing.DeleteActionImpl:
		return true, nil, s.delete(resource, namespace, a.Name, a.DeleteOptions.Preconditions)
	case testing.ListActionImpl:
		_, list, err := s.tracked(action)
		if err != nil {
			return true, nil, err
		}
		listed, err := meta.ListAccessor(list)
		if err == nil {
			listed.SetResourceVersion(s.version(resource))
		}
		return true, list, err
	}
	return s.tracked(action)
}

func (s *server) create(resource schema.GroupVersionResource, o purekubetest.Object) error {
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + strconv.Itoa(s.created+1))
	}
	s.identify(o)
	s.store(resource, o)
	return s.ObjectTracker.Create(resource, o, o.GetNamespace())
}

// identify gives a new object a UID and a creationTimestamp, unless it has them.
func (s *server) identify(o purekubetest.Object) {
	s.created++
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.created)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(now())
	}
}

// now is the time as the API keeps it, in whole seconds.
func now() metav1.Time { return metav1.NewTime(time.Now()).Rfc3339Copy() }

// Patch is what the tracker's reaction calls with the patched object.
func (s *server) Patch(
	resource schema.GroupVersionResource, patched runtime.Object, _ string, _ ...metav1.PatchOptions,
) error {
	return s.replace(resource, patched.(purekubetest.Object))
}

// replace stores an object in place of the object that has its name.
func (s *server) replace(resource schema.GroupVersionResource, o purekubetest.Object) error {
	before, err := s.get(resource, o.GetNamespace(), o.GetName())
	if err != nil {
		return err
	}
	if err := conflict(resource, before, o.GetUID(), o.GetResourceVersion()); err != nil {
		return err
	}
	o.SetUID(before.GetUID())
	o.SetCreationTimestamp(before.GetCreationTimestamp())
	o.SetDeletionTimestamp(before.GetDeletionTimestamp())
	o.SetResourceVersion(before.GetResourceVersion())
	if equality.Semantic.DeepEqual(before, o) {
		return nil // an API server does not store it again
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return s.remove(resource, o)
	}
	s.store(resource, o)
	return s.ObjectTracker.Update(resource, o, o.GetNamespace())
}

// apply lets the tracker apply, which stores the object with the resourceVersion that the patch has.
func (s *server) apply(a testing.PatchActionImpl) (bool, runtime.Object, error) {
	patch := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(a.Patch, &patch.Object); err != nil {
		return true, nil, err
	}
	before, err := s.get(a.Resource, a.Namespace, a.Name)
	switch {
	case err == nil:
		err = conflict(a.Resource, before, patch.GetUID(), patch.GetResourceVersion())
	case !apierrors.IsNotFound(err) || a.Subresource != "":
	case patch.GetUID() != "":
		err = apierrors.NewConflict(a.Resource.GroupResource(), a.Name,
			fmt.Errorf("there is no object with the UID %s", patch.GetUID()))
	default:
		s.identify(patch) // the tracker creates it
		err = nil
	}
	if err != nil {
		return true, nil, err
	}
	version := s.versions[a.Resource]
	s.store(a.Resource, patch)
	if a.Patch, err = patch.MarshalJSON(); err != nil {
		return true, nil, err
	}
	_, stored, err := s.tracked(a)
	if err != nil {
		s.versions[a.Resource] = version
	}
	return true, stored, err
}

func (s *server) delete(
	resource schema.GroupVersionResource, namespace, name string, only *metav1.Preconditions,
) error {
	o, err := s.get(resource, namespace, name)
	if err != nil {
		return err
	}
	if only != nil {
		if err := conflict(resource, o, ptr.Deref(only.UID, ""), ptr.Deref(only.ResourceVersion, "")); err != nil {
			return err
		}
	}
	switch {
	case len(o.GetFinalizers()) == 0:
		return s.remove(resource, o)
	case o.GetDeletionTimestamp() != nil:
		return nil
	}
	o.SetDeletionTimestamp(ptr.To(now()))
	s.store(resource, o)
	return s.ObjectTracker.Update(resource, o, namespace)
}

// remove gives the deletion a resourceVersion of its own, as an API server does: to a controller, a deletion with the
// version from before looks like a cluster that was restored from a backup. The tracker deletes what it has, so it gets
// the version first, and watches see that as a change.
func (s *server) remove(resource schema.GroupVersionResource, o purekubetest.Object) error {
	s.store(resource, o)
	if err := s.ObjectTracker.Update(resource, o, o.GetNamespace()); err != nil {
		return err
	}
	return s.ObjectTracker.Delete(resource, o.GetNamespace(), o.GetName())
}

func (s *server) get(resource schema.GroupVersionResource, namespace, name string) (purekubetest.Object, error) {
	o, err := s.ObjectTracker.Get(resource, namespace, name)
	if err != nil {
		return nil, err
	}
	return o.(purekubetest.Object), nil
}

// store gives an object that is about to be stored the next resourceVersion of its resource.
func (s *server) store(resource schema.GroupVersionResource, o purekubetest.Object) {
	s.versions[resource]++
	o.SetResourceVersion(s.version(resource))
}

func (s *server) version(resource schema.GroupVersionResource) string {
	return strconv.Itoa(s.versions[resource] + 1)
}

// conflict compares the UID and resourceVersion that a request names, unless they are empty, with the object's.
func conflict(resource schema.GroupVersionResource, o purekubetest.Object, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != o.GetUID():
		return apierrors.NewConflict(resource.GroupResource(), o.GetName(),
			fmt.Errorf("its UID is %s and not %s", o.GetUID(), uid))
	case version != "" && version != o.GetResourceVersion():
		return apierrors.NewConflict(resource.GroupResource(), o.GetName(),
			fmt.Errorf("its resourceVersion is %s and not %s: get it again", o.GetResourceVersion(), version))
	}
	return nil
}
