package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
)

func (s *Server) patch(at place, r purekube.Request, k kind) (Object, error) {
	switch r.PatchType {
	case types.StrategicMergePatchType:
		return s.strategicMerge(at, r)
	case types.ApplyYAMLPatchType:
		return s.apply(at, r, k)
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("patch type %q", r.PatchType))
}

func (s *Server) strategicMerge(at place, r purekube.Request) (Object, error) {
	before, err := s.find(at, r)
	if err != nil {
		return nil, err
	}
	o, err := Patched(before, r.Patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := sameObject(before, o, r); err != nil {
		return nil, err
	}
	return s.store(at, merged(before, o, r.Subresource)), nil
}

// Patched is a copy of the object, a pointer to a typed one, after a strategic merge patch.
func Patched[T runtime.Object](o T, patch []byte) (T, error) {
	after := reflect.New(reflect.TypeOf(o).Elem()).Interface().(T)
	document, err := json.Marshal(o)
	if err != nil {
		return after, err
	}
	if document, err = strategicpatch.StrategicMergePatch(document, patch, o); err != nil {
		return after, err
	}
	return after, json.Unmarshal(document, after)
}

// fieldManagers are the leaves that each manager applied, by their paths.
type fieldManagers map[string]leaves

// leaves are values by path. An element of a list that is merged by a key is a step of a path:
// status.conditions[Ready].message.
type leaves map[string]any

func (s *Server) apply(at place, r purekube.Request, k kind) (Object, error) {
	var config map[string]any
	if err := yaml.Unmarshal(r.Patch, &config); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if config["apiVersion"] != k.GroupVersion().String() || config["kind"] != k.Kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("apiVersion %v and kind %v", config["apiVersion"], config["kind"]))
	}
	if r.FieldManager == "" {
		return nil, apierrors.NewBadRequest("fieldManager is required for apply patch")
	}
	metadata, _ := config["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	before := s.objects[at]
	if before == nil {
		if r.Subresource != "" {
			return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
		}
		if uid != "" {
			return nil, conflict(r, "uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
		}
		s.names++
		before = k.make()
		before.SetNamespace(r.Namespace)
		before.SetName(r.Name)
		before.SetUID(types.UID(fmt.Sprintf("uid-%d", s.names)))
		before.SetCreationTimestamp(metav1.NewTime(s.Now))
	} else if uid != "" && types.UID(uid) != before.GetUID() {
		return nil, immutableUID(r, types.UID(uid))
	}
	for name := range config {
		// The status has its own subresource; of metadata the packages apply nothing but what tells the object.
		if name == "apiVersion" || name == "kind" || name == "metadata" || (name == "status") != (r.Subresource == "status") {
			delete(config, name)
		}
	}
	applied := leaves{}
	flatten(config, "", k.listMaps, applied)

	// Whoever applies a status as well is another manager there.
	manager := r.FieldManager + "/" + r.Subresource
	managed := s.managed[at]
	if managed == nil {
		managed = fieldManagers{}
		s.managed[at] = managed
	}
	current := tree(before)
	// What this manager applied before and does not any more goes, unless another has it too.
	// An element goes before its fields: without its key it would not be found.
	for _, path := range slices.Sorted(maps.Keys(managed[manager])) {
		if _, still := applied[path]; !still && !managed.othersHave(path, manager) {
			remove(current, path, k.listMaps)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(applied)) {
		set(current, path, applied[path], k.listMaps)
	}
	o, err := k.object(current)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	same := reflect.DeepEqual(managed[manager], applied)
	managed[manager] = applied
	if !same { // who manages a field is a part of the object
		return s.storeAnew(at, o), nil
	}
	return s.store(at, o), nil
}

func (f fieldManagers) othersHave(path, manager string) bool {
	for other, applied := range f {
		if _, has := applied[path]; has && other != manager {
			return true
		}
	}
	return false
}

// flatten collects the leaves of a tree.
func flatten(t map[string]any, prefix string, listMaps map[string]string, out leaves) {
	for name, v := range t {
		path := prefix + name
		key, merges := listMaps[path]
		elements, isList := v.([]any)
		switch child, isMap := v.(map[string]any); {
		case isMap:
			flatten(child, path+".", listMaps, out)
		case merges && isList:
			for _, e := range elements {
				if e, ok := e.(map[string]any); ok {
					at := fmt.Sprintf("%s[%v]", path, e[key])
					out[at] = nil // the element itself
					flatten(e, at+".", listMaps, out)
				}
			}
		default:
			out[path] = v
		}
	}
}

// element finds the map that the first step of a path leads to, and the rest of the path. It makes what is
// missing.
func element(t map[string]any, listPath, key, value string, create bool) map[string]any {
	steps := strings.Split(listPath, ".")
	for _, step := range steps[:len(steps)-1] {
		child, ok := t[step].(map[string]any)
		if !ok {
			if !create {
				return nil
			}
			child = map[string]any{}
			t[step] = child
		}
		t = child
	}
	last := steps[len(steps)-1]
	list, _ := t[last].([]any)
	for _, e := range list {
		if e, ok := e.(map[string]any); ok && e[key] == value {
			return e
		}
	}
	if !create {
		return nil
	}
	e := map[string]any{key: value}
	t[last] = append(list, e)
	return e
}

// splitPath takes a path to an element of a list apart: the list, the element's key, and what
// follows. ok is false for a path through no list.
func splitPath(path string) (list, value, rest string, ok bool) {
	list, after, ok := strings.Cut(path, "[")
	if !ok {
		return "", "", path, false
	}
	value, rest, _ = strings.Cut(after, "]")
	return list, value, strings.TrimPrefix(rest, "."), true
}

func set(t map[string]any, path string, v any, listMaps map[string]string) {
	if list, value, rest, ok := splitPath(path); ok {
		t = element(t, list, listMaps[list], value, true)
		if path = rest; path == "" {
			return
		}
	}
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		child, ok := t[step].(map[string]any)
		if !ok {
			child = map[string]any{}
			t[step] = child
		}
		t = child
	}
	t[steps[len(steps)-1]] = v
}

func remove(t map[string]any, path string, listMaps map[string]string) {
	list, value, rest, ok := splitPath(path)
	if ok && rest == "" {
		removeElement(t, list, listMaps[list], value)
		return
	}
	if ok {
		if t = element(t, list, listMaps[list], value, false); t == nil {
			return
		}
		path = rest
	}
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		child, ok := t[step].(map[string]any)
		if !ok {
			return
		}
		t = child
	}
	delete(t, steps[len(steps)-1])
}

func removeElement(t map[string]any, list, key, value string) {
	steps := strings.Split(list, ".")
	for _, step := range steps[:len(steps)-1] {
		child, ok := t[step].(map[string]any)
		if !ok {
			return
		}
		t = child
	}
	last := steps[len(steps)-1]
	elements, _ := t[last].([]any)
	t[last] = slices.DeleteFunc(elements, func(e any) bool {
		m, ok := e.(map[string]any)
		return ok && m[key] == value
	})
}
