package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/apiserver"
)

// Object is a pointer to an API object. The model shares objects: nobody may write to one that is not
// a copy of theirs.
type Object = apiserver.Object

// placeID is the number of a kind and name.
type placeID uint16

type place struct {
	kind      int // position in Kinds of the scenario
	resource  schema.GroupVersionResource
	namespace string
	name      string
	numbers   numbers // in the name
}

// contentID is the number of what an object is, its resourceVersion apart. 0 is no object.
type contentID uint32

type content struct {
	place   placeID
	object  Object // without a resourceVersion
	managed map[string]map[string]any
	// numbers are the numbers in its UIDs and generated names.
	numbers numbers
	// versions are the object with each resourceVersion that was asked for.
	versions map[int32]Object
}

// numbers is a set of the numbers of UIDs and generated names, of which there are 64.
type numbers uint64

func (n numbers) has(i int) bool { return n&(1<<i) != 0 }

// free returns the smallest number that is not in the set, and neither is its successor.
func (n numbers) free() int {
	for i := 1; i < 62; i++ {
		if !n.has(i) && !n.has(i+1) {
			return i
		}
	}
	panic("the world has more than 60 objects that are still spoken of")
}

// numbered finds UIDs and generated names as internal/test/apiserver makes them.
var numbered = regexp.MustCompile(`uid-(\d+)|-0(\d{4})\b`)

func numbersIn(text string) numbers {
	var n numbers
	for _, match := range numbered.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(match[1] + match[2])
		if i > 63 {
			panic("number " + match[0])
		}
		n |= 1 << i
	}
	return n
}

// UID returns the UID with the number.
func UID(number int) types.UID { return types.UID(fmt.Sprintf("uid-%d", number)) }

func uidNumber(uid types.UID) int {
	i, err := strconv.Atoi(string(uid)[len("uid-"):])
	if err != nil {
		panic(err)
	}
	return i
}

// store numbers contents and places.
type store struct {
	kinds    map[schema.GroupVersionResource]int
	places   []place
	placeIDs map[place]placeID
	contents []content
	ids      map[string]contentID
}

func newStore(kinds []schema.GroupVersionResource) *store {
	s := &store{kinds: map[schema.GroupVersionResource]int{}, placeIDs: map[place]placeID{}, ids: map[string]contentID{},
		places: make([]place, 1), contents: make([]content, 1)}
	for i, k := range kinds {
		s.kinds[k] = i
	}
	return s
}

func (s *store) place(resource schema.GroupVersionResource, namespace, name string) placeID {
	kind, known := s.kinds[resource]
	if !known {
		panic("the world does not have " + resource.String())
	}
	p := place{kind: kind, resource: resource, namespace: namespace, name: name}
	id, known := s.placeIDs[p]
	if !known {
		id = placeID(len(s.places))
		s.placeIDs[p] = id
		p.numbers = numbersIn(name)
		s.places = append(s.places, p)
	}
	return id
}

// intern returns the number of what the object is. It keeps a copy.
func (s *store) intern(o Object, managed map[string]map[string]any) contentID {
	o = o.DeepCopyObject().(Object)
	o.SetResourceVersion("")
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	body, err := json.Marshal(struct {
		Object  Object
		Managed map[string]map[string]any
	}{o, managed})
	if err != nil {
		panic(err)
	}
	resource := apiserver.ResourceOf(o)
	text := resource.Resource + string(body)
	id, known := s.ids[text]
	if !known {
		id = contentID(len(s.contents))
		s.contents = append(s.contents, content{
			place: s.place(resource, o.GetNamespace(), o.GetName()), object: o, managed: managed,
			numbers: numbersIn(text), versions: map[int32]Object{},
		})
		s.ids[text] = id
	}
	return id
}

// object is the content with that resourceVersion.
func (s *store) object(h held) Object {
	c := &s.contents[h.content]
	o := c.versions[h.version]
	if o == nil {
		o = c.object.DeepCopyObject().(Object)
		o.SetResourceVersion(strconv.Itoa(int(h.version)))
		c.versions[h.version] = o
	}
	return o
}
