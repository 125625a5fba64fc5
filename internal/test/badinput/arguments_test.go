package badinput

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// perType is how many values arguments of one type have at most.
const perType = 12

// arguments makes values of any type for one case.
type arguments struct {
	c     Case
	known map[reflect.Type][]reflect.Value
	// making are the types that a value is being made of, so that a type that contains itself ends.
	making map[reflect.Type]bool
}

func newArguments(t testing.TB, c Case) *arguments {
	a := &arguments{c: c, known: map[reflect.Type][]reflect.Value{}, making: map[reflect.Type]bool{}}
	each(c.Set, func(list reflect.Value) {
		var values []reflect.Value
		for i := range list.Len() {
			values = append(values, list.Index(i))
		}
		a.put(append(values, reflect.Zero(list.Type().Elem()), reflect.New(list.Type().Elem().Elem()))...)
		a.put(list, reflect.Zero(list.Type()))
	})
	a.put(reflect.ValueOf(c.Set), reflect.ValueOf(&manifests.Set{}))
	var objects []reflect.Value
	for _, o := range c.Set.Objects() {
		objects = append(objects, reflect.ValueOf(o))
	}
	for _, of := range []reflect.Type{reflect.TypeFor[runtime.Object](), reflect.TypeFor[manifests.Object](), reflect.TypeFor[any]()} {
		a.known[of] = append(slices.Clone(spread(objects)), reflect.Zero(of))
	}
	for _, at := range c.Times {
		a.put(reflect.ValueOf(at))
	}
	answers := a.answers()
	dis, claims, cidrs := c.Set.Disruption(c.Times[0]), c.Set.ResourceClaim(c.Times[0]), c.Set.ServiceCIDR(c.Times[0])
	asked, guessed := dis, claims
	asked.Answers, guessed.Answers = answers, answers
	guessed.Assumed, guessed.Now = claims.Claims, c.Times[len(c.Times)-1]
	guessed.PodGroups = resourceclaimGroups(c)
	roles, nodes := c.Set.RBACAggregate(), c.Set.TTL()
	far := nodes
	far.Step = int(c.Ints[0])
	put(a, dis, asked, disruption.Snapshot{})
	put(a, claims, guessed, resourceclaim.Snapshot{})
	put(a, cidrs, servicecidr.Snapshot{})
	put(a, roles, rbacaggregate.Snapshot{})
	put(a, nodes, far, ttl.Snapshot{})
	put(a, nil, disruption.NewIndex(asked, disruption.Options{}), disruption.NewIndex(dis, disruption.Options{MatchUpstream: purekube.V1_36}),
		disruption.NewIndex(dis, disruption.Options{MatchUpstream: "v0"}))
	put(a, nil, resourceclaim.NewIndex(guessed, resourceclaim.Options{}), resourceclaim.NewIndex(claims, resourceclaim.Options{MatchUpstream: purekube.V1_36}),
		resourceclaim.NewIndex(claims, resourceclaim.Options{MatchUpstream: "v0"}))
	put(a, nil, servicecidr.NewIndex(cidrs, servicecidr.Options{}), servicecidr.NewIndex(cidrs, servicecidr.Options{MatchUpstream: purekube.V1_36}),
		servicecidr.NewIndex(cidrs, servicecidr.Options{MatchUpstream: "v0"}))
	put(a, nil, rbacaggregate.NewIndex(roles, rbacaggregate.Options{}), rbacaggregate.NewIndex(roles, rbacaggregate.Options{MatchUpstream: purekube.V1_36}),
		rbacaggregate.NewIndex(roles, rbacaggregate.Options{MatchUpstream: "v0"}))
	put(a, nil, ttl.NewIndex(far, ttl.Options{}), ttl.NewIndex(nodes, ttl.Options{}))
	put[context.Context](a, t.Context())
	put[testing.TB](a, &recorder{TB: t})
	put[error](a, nil, errors.New(c.Strings[len(c.Strings)-1]))
	put[io.Reader](a, strings.NewReader(strings.Join(c.Strings, "\n")), nil)
	put[fs.FS](a, fstest.MapFS{"x.yaml": &fstest.MapFile{Data: []byte(strings.Join(c.Strings, "\n"))}}, nil)
	a.keys()
	return a
}

func put[T any](a *arguments, values ...T) {
	for _, v := range values {
		of := reflect.TypeFor[T]()
		a.known[of] = append(a.known[of], reflect.ValueOf(&v).Elem())
	}
}

func (a *arguments) put(values ...reflect.Value) {
	for _, v := range values {
		a.known[v.Type()] = append(a.known[v.Type()], v)
	}
}

// spread is at most perType of the values, from all over the list.
func spread(values []reflect.Value) []reflect.Value {
	if len(values) <= perType {
		return values
	}
	out := make([]reflect.Value, perType)
	for i := range out {
		out[i] = values[i*len(values)/perType]
	}
	return out
}

// answers are lookups whose answers are wrong, nil or of a type that the lookup never has.
func (a *arguments) answers() map[purekube.Need]purekube.Answer {
	answers := map[purekube.Need]purekube.Answer{{}: {}}
	objects := a.c.Set.Objects()
	for i, o := range objects[:min(len(objects), 50)] {
		key := manifests.KeyOf(o)
		need := purekube.Need{APIVersion: "apps/v1", Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
		answers[need] = purekube.Answer{Object: objects[(i+1)%len(objects)]}
		need.Subresource = "scale"
		answers[need] = purekube.Answer{Object: i}
		need.APIVersion = "v1"
		answers[need] = purekube.Answer{Object: o, Err: errors.New(a.c.Strings[i%len(a.c.Strings)])}
	}
	return answers
}

func resourceclaimGroups(c Case) []resourceclaim.PodGroup {
	groups := []resourceclaim.PodGroup{{}}
	for _, p := range c.Set.Pods[:min(len(c.Set.Pods), 5)] {
		if p != nil {
			groups = append(groups, resourceclaim.PodGroup{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
		}
	}
	return groups
}

func (a *arguments) keys() {
	keys := []purekube.Key{{}, {Kind: a.c.Strings[0], Namespace: a.c.Strings[len(a.c.Strings)-1], Name: a.c.Strings[0]}}
	for _, o := range a.c.Set.Objects() {
		keys = append(keys, manifests.KeyOf(o))
	}
	var values []reflect.Value
	for _, k := range keys {
		values = append(values, reflect.ValueOf(k))
	}
	a.known[reflect.TypeFor[purekube.Key]()] = spread(values)
}

// of returns values of a type, at least one.
func (a *arguments) of(t reflect.Type) []reflect.Value {
	if values, ok := a.known[t]; ok {
		return spread(values)
	}
	if a.making[t] {
		return []reflect.Value{reflect.Zero(t)}
	}
	a.making[t] = true
	values := a.made(t)
	delete(a.making, t)
	a.known[t] = values
	return values
}

func (a *arguments) made(t reflect.Type) (values []reflect.Value) {
	values = []reflect.Value{reflect.Zero(t)}
	switch t.Kind() {
	case reflect.String:
		for _, s := range a.c.Strings {
			values = append(values, reflect.ValueOf(s).Convert(t))
		}
	case reflect.Bool:
		values = append(values, reflect.ValueOf(true).Convert(t))
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64:
		for _, n := range a.c.Ints {
			values = append(values, reflect.ValueOf(n).Convert(t))
		}
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct && t.Implements(reflect.TypeFor[runtime.Object]()) {
			return append(values, reflect.New(t.Elem()))
		}
		for _, v := range a.of(t.Elem()) {
			p := reflect.New(t.Elem())
			p.Elem().Set(v)
			values = append(values, p)
		}
	case reflect.Slice:
		all := reflect.MakeSlice(t, 0, 4)
		for _, v := range a.of(t.Elem()) {
			all = reflect.Append(all, v)
		}
		values = append(values, reflect.MakeSlice(t, 0, 0), all)
	case reflect.Map:
		m := reflect.MakeMap(t)
		elems := a.of(t.Elem())
		for i, k := range a.of(t.Key()) {
			m.SetMapIndex(k, elems[i%len(elems)])
		}
		values = append(values, m)
	case reflect.Struct:
		for i := range perType {
			v := reflect.New(t).Elem()
			for f := range t.NumField() {
				if t.Field(f).IsExported() {
					of := a.of(t.Field(f).Type)
					v.Field(f).Set(of[(i*(2*f+1)+f)%len(of)])
				}
			}
			values = append(values, v)
		}
	case reflect.Func:
		// A function that returns a value of the case, another one for each call.
		n := 0
		values = []reflect.Value{reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				of := a.of(t.Out(i))
				out = append(out, of[n%len(of)])
				n++
			}
			return out
		})}
	}
	return values
}

// recorder is the test that purekubetest is given. A test that fails ends with the panic of testFailed.
type recorder struct{ testing.TB }

type testFailed struct{ text string }

func (r *recorder) Helper()                      {}
func (r *recorder) Fatal(args ...any)            { panic(testFailed{fmt.Sprint(args...)}) }
func (r *recorder) Fatalf(f string, args ...any) { panic(testFailed{fmt.Sprintf(f, args...)}) }
func (r *recorder) Errorf(f string, args ...any) { panic(testFailed{fmt.Sprintf(f, args...)}) }
func (r *recorder) Error(args ...any)            { panic(testFailed{fmt.Sprint(args...)}) }
func (r *recorder) FailNow()                     { panic(testFailed{}) }
func (r *recorder) Deadline() (time.Time, bool)  { return time.Time{}, false }
