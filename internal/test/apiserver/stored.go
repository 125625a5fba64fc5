package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Stored is all that a server knows about one object. Do not write to its fields: servers share them.
type Stored struct {
	Object Object
	// Managed are the fields that each field manager applied, by their paths.
	Managed map[string]map[string]any
}

// ResourceOf is the resource of an object of a kind that the server knows.
func ResourceOf(o Object) schema.GroupVersionResource { return resourceOf(o) }

// Restore makes a server that holds these objects as they are, with their UIDs and
// resourceVersions. The next write gets the resourceVersion after revision, and the next name and
// UID that the server makes up have the numbers after names.
func Restore(revision, names int, objects ...Stored) *Server {
	s := New()
	s.revision, s.names = revision, names
	for _, h := range objects {
		at := place{resourceOf(h.Object), types.NamespacedName{Namespace: h.Object.GetNamespace(), Name: h.Object.GetName()}}
		s.objects[at] = typed(h.Object)
		if len(h.Managed) == 0 {
			continue
		}
		s.managed[at] = fieldManagers{}
		for manager, fields := range h.Managed {
			s.managed[at][manager] = fields
		}
	}
	return s
}

// Stored returns everything in the server, in no order.
func (s *Server) Stored() []Stored {
	var all []Stored
	for at, o := range s.objects {
		h := Stored{Object: o.DeepCopyObject().(Object)}
		for manager, fields := range s.managed[at] {
			if h.Managed == nil {
				h.Managed = map[string]map[string]any{}
			}
			h.Managed[manager] = fields
		}
		all = append(all, h)
	}
	return all
}
