package contract

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// CheckConverges plans the snapshot, sends the requests to an API server that has its objects, and plans again, until
// nothing is left to do. Lookups are answered by that server. Only the objects of the snapshot count: what a caller
// remembers beside them is of another cluster.
func (c Core[X, S, A, O, E]) CheckConverges(t testing.TB, s S, o O) {
	t.Helper()
	server := apiserver.New()
	read := map[reflect.Type]bool{}
	s = Copy(s)
	fields(&s, func(_ string, field reflect.Value) {
		switch element := reflect.Type(nil); field.Kind() {
		case reflect.Map:
			field.SetZero()
		case reflect.Slice:
			element = field.Type().Elem()
			if !element.Implements(reflect.TypeFor[apiserver.Object]()) || read[element] {
				field.SetZero()
				return
			}
			read[element] = true
			for i := range field.Len() {
				if nameOf(field.Index(i)).Name != "" {
					server.Put(field.Index(i).Interface().(apiserver.Object))
				}
			}
		}
	})
	answers := map[purekube.Need]purekube.Answer{}
	var last []string
	for range 50 {
		s = c.stored(server, s, answers)
		now := reflect.ValueOf(&s).Elem().FieldByName("Now")
		if now.IsValid() {
			server.Now = now.Interface().(time.Time)
		}
		outcomes, err := c.NewIndex(s, o).PlanAll()
		if err != nil {
			t.Fatalf("objects of an API server: %v", err)
		}
		busy := false
		var next time.Time
		asked := false
		for _, out := range outcomes {
			for _, n := range out.Result.Needs {
				answers[n] = lookUp(server, n)
				busy, asked = true, true
				last = append(last, n.String())
			}
			for _, a := range out.Result.Actions {
				last = append(last, a.String())
			}
			if at := out.Result.RecheckAt; !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
			if len(out.Result.Actions) == 0 {
				continue
			}
			busy = true
			// Another plan of this round may have changed the object: that refuses a call, which the next round makes.
			if _, err := purekube.CarryOut(out.Result.Actions, server.Do, nil); err != nil {
				last = append(last, err.Error())
			}
		}
		if !asked {
			clear(answers) // they are for the plans that asked
		}
		switch {
		case busy:
		case next.IsZero():
			return
		default:
			now.Set(reflect.ValueOf(next))
		}
	}
	t.Fatalf("there is no end of it: %q", last[max(0, len(last)-20):])
}

// stored is the snapshot with what the server has of its kinds.
func (c Core[X, S, A, O, E]) stored(server *apiserver.Server, s S, answers map[purekube.Need]purekube.Answer) S {
	objects := server.All()
	read := map[reflect.Type]bool{}
	fields(&s, func(_ string, field reflect.Value) {
		if m, ok := field.Addr().Interface().(*map[purekube.Need]purekube.Answer); ok {
			*m = map[purekube.Need]purekube.Answer{}
			for n, a := range answers {
				(*m)[n] = a
			}
		}
		if field.Kind() != reflect.Slice || read[field.Type().Elem()] {
			return
		}
		element := field.Type().Elem()
		read[element] = true
		field.SetZero()
		for _, o := range objects {
			if reflect.TypeOf(o) == element {
				field.Set(reflect.Append(field, reflect.ValueOf(o)))
			}
		}
	})
	return s
}

// lookUp is the server's answer: the object, or its scale.
func lookUp(server *apiserver.Server, n purekube.Need) purekube.Answer {
	for _, o := range server.All() {
		if kindOf(reflect.TypeOf(o)) != n.Kind || o.GetNamespace() != n.Namespace || o.GetName() != n.Name {
			continue
		}
		if n.Subresource == "" {
			return purekube.Answer{Object: o}
		}
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: o.GetUID()},
			Spec: autoscalingv1.ScaleSpec{Replicas: 1}}
		text, err := json.Marshal(runtime.Object(o))
		if err == nil {
			err = json.Unmarshal(text, &struct{ Spec *autoscalingv1.ScaleSpec }{&scale.Spec})
		}
		if err != nil {
			return purekube.Answer{Err: err}
		}
		return purekube.Answer{Object: scale}
	}
	return purekube.Answer{}
}
