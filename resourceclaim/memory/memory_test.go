package memory

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube/internal/test/aliasing"
)

// now is the time of the tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const ns = "ml"

type uidType = types.UID

func claims(cs ...*resourcev1.ResourceClaim) []*resourcev1.ResourceClaim { return cs }

func newClaim(name string, options ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "100"}}
	for _, o := range options {
		o(c)
	}
	return c
}

func asUnstructured(t *testing.T, claim *resourcev1.ResourceClaim) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(claim)
	require.NoError(t, err)
	return ofType(&unstructured.Unstructured{Object: content}, "resource.k8s.io/v1", "ResourceClaim")
}

func ofType(o *unstructured.Unstructured, apiVersion, kind string) *unstructured.Unstructured {
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	return o
}

func version(rv string) func(*resourcev1.ResourceClaim) {
	return func(c *resourcev1.ResourceClaim) { c.ResourceVersion = rv }
}

func TestBR3009_DeletedPods(t *testing.T) {
	require.Equal(t, 500, DefaultDeletedPods, "maxUIDCacheEntries")
	for name, d := range map[string]*DeletedPods{"zero value": {}, "0": NewDeletedPods(0), "negative": NewDeletedPods(-1), "500": NewDeletedPods(500)} {
		t.Run("BR-30-09 "+name, func(t *testing.T) {
			require.False(t, d.Has("u0"))
			for i := range 500 {
				d.Add(uidType(fmt.Sprintf("u%d", i)))
			}
			require.True(t, d.Has("u0"), "500 fit")
			require.Empty(t, d.Add("u0"), "it was there, and now u1 is the oldest")
			require.Equal(t, sets.New(uidType("u1")), d.Add("one more"), "the one added longest ago drops out")
			require.True(t, d.Has("u0"))
			require.False(t, d.Has("u1"))
			require.True(t, d.Has("one more"))
			require.Len(t, d.UIDs(), 500)
			d.UIDs().Insert("another")
			require.False(t, d.Has("another"), "the set is the caller's")
		})
	}
	small := NewDeletedPods(1)
	small.Add("a")
	small.Add("b")
	require.False(t, small.Has("a"))
	require.True(t, small.Has("b"))
	small.Add("c")
	require.Equal(t, sets.New(uidType("c")), small.UIDs(), "each UID drops one, and not only the first UID too many")
}

func TestMemoriesAreSafeForConcurrentUse(t *testing.T) {
	var deleted DeletedPods
	var assumed AssumedClaims
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				uid := uidType(fmt.Sprint(i, j))
				deleted.Add(uid)
				deleted.Has(uid)
				assumed.Add(newClaim(fmt.Sprint("c", i, "-", j)), now)
				assumed.List(now, claims(newClaim(fmt.Sprint("c", i, "-", j))))
				assumed.Forget(uidType(fmt.Sprint("uid-c", i, "-", j)))
			}
		})
	}
	wg.Wait()
	require.Empty(t, assumed.List(now, nil))
}

func TestBR3004_AssumedClaims(t *testing.T) {
	var a AssumedClaims
	require.Empty(t, a.List(now, nil))
	a.Add(nil, now)
	a.Forget("nobody")

	written := newClaim("c", version("10"))
	a.Add(written, now)
	listed := a.List(now, claims(newClaim("other"), nil))
	require.Equal(t, claims(written), listed)
	require.Empty(t, aliasing.Shared(written, listed), "it keeps a copy")

	a.Add(newClaim("c", version("9")), now)
	require.Equal(t, "10", a.List(now, nil)[0].ResourceVersion, "an older one does not replace a newer one")
	a.Add(newClaim("c", version("11")), now)
	require.Equal(t, "11", a.List(now, nil)[0].ResourceVersion)
	require.Len(t, a.List(now, claims(newClaim("c", version("10")))), 1, "the cache is behind")

	a.Add(newClaim("b", version("5")), now)
	require.Equal(t, []string{"b", "c"}, []string{a.List(now, nil)[0].Name, a.List(now, nil)[1].Name}, "sorted")
	require.Len(t, a.List(now, claims(newClaim("c", version("11")))), 1, "the cache has c as it is")
	require.Len(t, a.List(now, nil), 1, "and c does not come back when the cache drops it")

	a.Forget("uid-b")
	require.Empty(t, a.List(now, nil), "the caller saw b go")

	a.Add(newClaim("d", version("20")), now)
	require.Len(t, a.List(now.Add(time.Hour-1), nil), 1, "BR-30-04: an hour")
	require.Empty(t, a.List(now.Add(time.Hour), nil), "BR-30-04: an hour")
	require.Empty(t, a.List(now, nil), "dropped for good")

	a.Add(newClaim("d", version("20")), now)
	a.Add(newClaim("d", version("20")), now.Add(time.Minute))
	require.Len(t, a.List(now.Add(time.Hour), nil), 1, "a write that brought the same version is the one that the hour counts from")
	a.Add(newClaim("d", version("19")), now.Add(time.Hour))
	require.Empty(t, a.List(now.Add(time.Hour+time.Minute), nil), "an older version is no news")

	a.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "e"}}, now)
	require.Empty(t, a.List(now, nil), "what is no claim changes nothing")

	a.Add(newClaim("e", version("not a number")), now)
	require.Len(t, a.List(now, nil), 1)
	require.Empty(t, a.List(now, claims(newClaim("e", version("7")))), "versions that do not compare: the cache counts")
}

// The event of a deletion overtakes the answer to the write.
func TestForgottenClaimsAreNotAssumed(t *testing.T) {
	var a AssumedClaims
	claim := newClaim("c", version("10"))
	a.Forget(claim.UID)
	a.Add(claim, now)
	require.Empty(t, a.List(now, nil), "it is gone")
	a.Add(newClaim("c", version("12"), func(c *resourcev1.ResourceClaim) { c.UID = "next" }), now)
	require.Len(t, a.List(now, nil), 1, "another claim of the name is not")

	for i := range maxForgotten {
		a.Forget(types.UID(fmt.Sprint(i)))
	}
	a.Add(claim, now)
	require.Equal(t, "12", a.List(now, nil)[0].ResourceVersion, "an older one of the name does not replace a newer one")
	a.Add(newClaim("b", func(c *resourcev1.ResourceClaim) { c.UID = claim.UID }), now)
	require.Len(t, a.List(now, nil), 2, "so many UIDs are remembered, and no more")

	a.Forget("uid-first")
	a.Forget("uid-second")
	a.Add(newClaim("first"), now)
	require.Len(t, a.List(now, nil), 2, "a deletion does not make it forget the deletions before")

	var b AssumedClaims
	b.Forget("")
	b.Add(newClaim("c", func(c *resourcev1.ResourceClaim) { c.UID = "" }), now)
	require.Len(t, b.List(now, nil), 1, "a claim without a UID is no claim that was seen to go")
	b.Add(newClaim(""), now)
	require.Len(t, b.List(now, nil), 1, "a claim without a name is none")
}

// A dynamic client returns Unstructured objects of any kind.
func TestUnstructuredAnswers(t *testing.T) {
	claim := func() *unstructured.Unstructured { return asUnstructured(t, newClaim("c")) }
	unreadable := claim()
	unreadable.Object["status"] = "none"
	noJSON := claim()
	noJSON.Object["status"] = func() {}
	for _, tc := range []struct {
		name, reason string
		answer       *unstructured.Unstructured
		want         []*resourcev1.ResourceClaim
	}{
		{"a claim", "it is read as a typed one", claim(), claims(newClaim("c"))},
		{"a claim of another version", "the group tells claims from other kinds", ofType(claim(), "resource.k8s.io/v1beta1", "ResourceClaim"), claims(newClaim("c"))},
		{"nil", "a client returns nil together with an error", nil, nil},
		{"a Pod", "it may have the name of a claim", ofType(claim(), "v1", "Pod"), nil},
		{"another kind of the group", "it may have the name of a claim", ofType(claim(), "resource.k8s.io/v1", "ResourceSlice"), nil},
		{"the kind of another group", "it is no claim", ofType(claim(), "example.com/v1", "ResourceClaim"), nil},
		{"a claim that does not decode", "a part of a claim is none", unreadable, nil},
		{"a claim that has no JSON", "an object that a program has spoiled", noJSON, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a AssumedClaims
			a.Add(tc.answer, now)
			got := a.List(now, nil)
			for _, c := range got {
				c.TypeMeta = metav1.TypeMeta{}
			}
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

// listed shows claims by name, as an Index does.
type listed []*resourcev1.ResourceClaim

func (l listed) ListedClaims(name types.NamespacedName) (found []*resourcev1.ResourceClaim) {
	for _, c := range l {
		if c.Namespace == name.Namespace && c.Name == name.Name {
			found = append(found, c)
		}
	}
	return found
}

func TestListForDropsWhatTheIndexShows(t *testing.T) {
	var a AssumedClaims
	a.Add(newClaim("shown", version("10")), now)
	a.Add(newClaim("older", version("10")), now)
	a.Add(newClaim("missing", version("10")), now)
	x := listed{newClaim("shown", version("10")), newClaim("older", version("9"))}
	require.Equal(t, claims(newClaim("missing", version("10")), newClaim("older", version("10"))), a.ListFor(now, x))
	require.Len(t, a.List(now, nil), 2, "a claim that was shown does not come back")
}
