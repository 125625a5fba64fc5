package parity

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/resourceclaim"
)

// supported are the releases whose controllers are compared, the oldest first.
var supported = []purekube.Upstream{purekube.V1_36, purekube.V1_37}

var update = flag.Bool("update", false, "write what the controllers do into the files of conformance instead of comparing it")

const conformanceFolder = "../../../../conformance"

// TestConformance runs the scenarios of package conformance on the real controllers. What a controller does is in the file,
// under its release, if it is not what purekube does.
func TestConformance(t *testing.T) {
	require.NoError(t, fs.WalkDir(conformance.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		t.Run(name, func(t *testing.T) {
			s, text := Scenario(t, name)
			if why := notRun(s); why != "" {
				require.NotContains(t, s.Upstream, Release, "a scenario that is not run says what it does: %s", why)
				t.Skip(why)
			}
			u := upstreamScenario{Scenario: s}
			seen, written := u.run(t), s.Upstream
			delete(written, Release)
			if diff := scenario.Diff(s.Compared(s.Want), seen); diff != "" {
				written[Release] = u.shown(seen)
			}
			if after := withUpstream(text, written); *update {
				require.NoError(t, os.WriteFile(filepath.Join(conformanceFolder, name), []byte(after), 0o644))
			} else {
				require.Equal(t, text, after, "kube-controller-manager %s does something else than the file says; "+
					"if that is right: go test %s./parity -run TestConformance -update", Release, TestFlags)
			}
		})
		return nil
	}))
}

// notRun says why a scenario is not one for this controller; empty: it is.
func notRun(s *scenario.Scenario) string {
	switch {
	case s.EvictsPods():
		return "not a question to kube-controller-manager"
	case s.Options.MaxUnavailableRounding != "":
		return "an option that kube-controller-manager does not have"
	case (s.Options.DenyAdminAccess || s.Options.DenyPrioritizedList) && !featuresCanBeOff:
		return "this controller has these features always on"
	case s.Options.PodGroups && Release == purekube.V1_36:
		return "PodGroups are compared from v1.37 on"
	case s.HasAssumed():
		return "what a controller remembers of its writes is compared by TestResourceClaimAssumed"
	}
	return ""
}

type upstreamScenario struct {
	*scenario.Scenario
	set *scenario.Set
	// before are the objects of the caches as they were given, by key.
	before map[purekube.Key]runtime.Object
}

// run is what the controller does.
func (u *upstreamScenario) run(t *testing.T) []scenario.Line {
	t.Helper()
	var err error
	u.set, err = u.Set()
	require.NoError(t, err)
	untouched, err := u.Set()
	require.NoError(t, err)
	u.before = map[purekube.Key]runtime.Object{}
	for _, o := range slices.Concat(objectsOf(untouched), objectsOf(untouched.Changed)) {
		u.before[keyOf(o)] = o
	}
	var lines []scenario.Line
	reallyCrash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = reallyCrash, handlers }()
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { lines = append(lines, scenario.Line{Head: "panic"}) }}
	given := objectsOf(u.set)
	Run(t, given, u.start(), func(_ *testing.T, w *World) {
		c := claimsCase{}
		for _, uid := range u.SeenDeleted {
			c.deleted = append(c.deleted, types.UID(uid))
		}
		c.tell(w)
		trace := w.Settle()
		if len(u.Plan) == 0 {
			for _, o := range objectsOf(u.set.Changed) {
				if _, known := u.before[keyOf(o)]; known && inCache(w, o) {
					w.Update(o)
				} else {
					w.Add(o)
				}
			}
			for _, o := range objectsOf(u.set.Gone) {
				w.Delete(o, false)
			}
			trace = w.Settle()
		}
		lines = append(lines, u.lines(trace)...)
	})
	for _, o := range slices.Concat(u.set.Objects(), u.set.Changed.Objects()) {
		if key := manifests.KeyOf(o); !reflect.DeepEqual(u.before[key], runtime.Object(o)) && len(u.Plan) > 0 {
			lines = append(lines, scenario.Line{Head: "cache " + key.String(), Fields: changedFields(fieldsOf(u.before[key]), fieldsOf(o))})
		}
	}
	return u.Compared(lines)
}

func inCache(w *World, o runtime.Object) bool {
	_, known, err := w.cacheOf(o).GetIndexer().Get(o)
	return known && err == nil
}

// objectsOf are the objects of a set for the caches.
func objectsOf(set *scenario.Set) (objects []runtime.Object) {
	for _, o := range set.Objects() {
		objects = append(objects, o)
		if p, isPod := o.(*corev1.Pod); isPod {
			if name := set.PodGroupOf(p); name != "" {
				inPodGroup(p, name)
			}
		}
	}
	return append(objects, podGroupObjects(set.PodGroups)...)
}

// start builds the controller of the scenario's package.
func (u *upstreamScenario) start() Start {
	switch u.Package {
	case scenario.ServiceCIDR:
		return startServiceCIDR
	case scenario.TTL:
		return startTTL
	case scenario.RBACAggregate:
		return startAggregation
	case scenario.Disruption:
		return StartDisruption(func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error) {
			answer := u.answer(purekube.Need{APIVersion: kind.Group + "/v1", Kind: kind.Kind, Namespace: namespace, Name: name, Subresource: "scale"})
			if answer.Err != nil || answer.Object == nil {
				return nil, answer.Err
			}
			return answer.Object.(*autoscalingv1.Scale), nil
		})
	}
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		features := resourceClaimFeatures{
			AdminAccess: !u.Options.DenyAdminAccess, PrioritizedList: !u.Options.DenyPrioritizedList, PodGroups: u.Options.PodGroups,
		}
		run, err := startResourceClaim(features)(ctx, w)
		w.Respond = u.respond
		return run, err
	}
}

func (u *upstreamScenario) answer(n purekube.Need) purekube.Answer {
	answer, err := u.Answer(u.set, n)
	if err != nil {
		panic(err)
	}
	return answer
}

// kindsOf are the kinds that the controller of claims looks up.
var kindsOf = map[string]string{"pods": "Pod", "podgroups": "PodGroup", "resourceclaims": "ResourceClaim"}

// respond answers lookups, and rejects what the scenario says.
func (u *upstreamScenario) respond(r Request) (runtime.Object, error) {
	if r.Verb != "get" {
		if code, rejected := u.Reject[u.line(r).Head]; rejected {
			return nil, scenario.Rejection(code)
		}
		return nil, nil
	}
	answer := u.answer(purekube.Need{Kind: kindsOf[r.Resource], Namespace: r.Namespace, Name: r.Name})
	switch o := answer.Object.(type) {
	case nil:
		return nil, scenario.Rejection(404)
	case resourceclaim.PodGroup:
		return podGroupObjects([]resourceclaim.PodGroup{o})[0], nil
	default:
		return o.(runtime.Object), nil
	}
}

// lines are the trace in the words of a scenario.
func (u *upstreamScenario) lines(trace Trace) (lines []scenario.Line) {
	for _, r := range trace.Requests {
		lines = append(lines, u.line(r))
	}
	for _, e := range trace.Events {
		lines = append(lines, scenario.Event(purekube.Event{
			Regarding: corev1.ObjectReference{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}, Type: e.Type, Reason: e.Reason, Message: e.Message,
		}))
	}
	for _, key := range trace.Failed {
		kind := map[string]string{"pod": "Pod", "claim": "ResourceClaim", "podgroup": "PodGroup"}
		before, name, queued := strings.Cut(key, ":")
		switch {
		case queued:
			key = kind[before] + "/" + name
		case u.Package == scenario.RBACAggregate:
			key = "ClusterRole/" + key
		}
		lines = append(lines, scenario.Line{Head: "error " + key})
	}
	return lines
}

func (u *upstreamScenario) line(r Request) scenario.Line {
	at := r.path() + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	body := map[string]any{}
	if r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			panic(err)
		}
	}
	metadata, _ := body["metadata"].(map[string]any)
	switch r.Verb {
	case "create":
		return scenario.Create(r.Resource, r.Namespace, body)
	case "apply":
		return scenario.Apply(at, body, r.FieldManager, r.Force)
	case "update":
		return scenario.Update(at, body, maps.Clone(metadata))
	case "delete":
		l := scenario.Line{Head: "delete " + at}
		if len(body) > 0 {
			l.Fields = map[string]any{"options": body}
		}
		return l
	case "patch":
		key := purekube.Key{Kind: map[string]string{"servicecidrs": "ServiceCIDR", "nodes": "Node"}[r.Resource], Namespace: r.Namespace, Name: r.Name}
		after, err := apiserver.Patched(u.before[key], []byte(r.Body))
		if err != nil {
			panic(err)
		}
		return scenario.Update(at, fieldsOf(after), maps.Clone(metadata))
	}
	return scenario.Line{Head: r.Verb + " " + at}
}

func keyOf(o runtime.Object) purekube.Key {
	if object, known := o.(manifests.Object); known {
		if key := manifests.KeyOf(object); key != (purekube.Key{}) {
			return key
		}
	}
	m := o.(metav1.Object)
	return purekube.Key{Kind: "PodGroup", Namespace: m.GetNamespace(), Name: m.GetName()}
}

// fieldsOf are the fields of an object in JSON.
func fieldsOf(o any) (of map[string]any) {
	document, err := json.Marshal(o)
	if err := errors.Join(err, json.Unmarshal(document, &of)); err != nil {
		panic(err)
	}
	return of
}

// shown are the lines with the fields that matter: the fields that the file wants of such a line, or, of a line that it does
// not want, the fields that a write changes.
func (u *upstreamScenario) shown(seen []scenario.Line) (lines []scenario.Line) {
	for _, l := range seen {
		wanted := map[string]any{}
		found := false
		for _, w := range u.Want {
			if w.Head == l.Head {
				found = true
				maps.Copy(wanted, w.Fields)
			}
		}
		switch {
		case l.Verb() == "error":
		case found:
			l.Fields = chosen(wanted, l.Fields)
		case l.Verb() == "update":
			delete(l.Fields, "options")
			l.Fields = changedFields(u.beforeOf(l), l.Fields)
		case l.Verb() == "apply":
			delete(l.Fields, "options")
			l.Fields = changedFields(nil, l.Fields)
		case l.Verb() != "cache":
			l.Fields = nil
		}
		lines = append(lines, scenario.Line{Head: l.Head, Fields: scenario.Sorted(l.Fields)})
	}
	slices.SortStableFunc(lines, func(a, b scenario.Line) int { return strings.Compare(a.Object(), b.Object()) })
	return lines
}

// beforeOf is the object of an update as it was.
func (u *upstreamScenario) beforeOf(l scenario.Line) map[string]any {
	for key, o := range u.before {
		resource := scenario.Get(purekube.Need{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
		if resource.Object() == l.Object() {
			return fieldsOf(o)
		}
	}
	return nil
}

// chosen are the fields of the object that are wanted, with what they are; nil: absent.
func chosen(wanted, object map[string]any) map[string]any {
	of := map[string]any{}
	for field, want := range wanted {
		inner, deeper := want.(map[string]any)
		value, _ := object[field].(map[string]any)
		if of[field] = object[field]; deeper && value != nil {
			of[field] = chosen(inner, value)
		}
		if list, isList := object[field].([]any); isList {
			of[field] = chosenOf(want, list)
		}
	}
	return of
}

// chosenOf are the elements, with the fields that any wanted one has.
func chosenOf(want any, list []any) []any {
	wanted := map[string]any{}
	elements, _ := want.([]any)
	for _, w := range elements {
		of, _ := w.(map[string]any)
		maps.Copy(wanted, of)
	}
	chosenList := make([]any, len(list))
	for i := range list {
		object, isObject := list[i].(map[string]any)
		if chosenList[i] = list[i]; isObject && len(wanted) > 0 {
			chosenList[i] = chosen(wanted, object)
		}
	}
	return chosenList
}

// changedFields are the fields of after that differ from before; nil: gone.
func changedFields(before, after map[string]any) map[string]any {
	of := map[string]any{}
	for field := range mapsUnion(before, after) {
		old, isOld := before[field].(map[string]any)
		current, isNew := after[field].(map[string]any)
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "name", "namespace", "uid", "resourceVersion"}, field):
		case isOld && isNew || isNew && before[field] == nil:
			if inner := changedFields(old, current); len(inner) > 0 {
				of[field] = inner
			}
		case !reflect.DeepEqual(before[field], after[field]):
			of[field] = after[field]
		}
	}
	return of
}

func mapsUnion(a, b map[string]any) map[string]any {
	both := map[string]any{}
	maps.Copy(both, a)
	maps.Copy(both, b)
	return both
}

// withUpstream is the file with these lines of kube-controller-manager.
func withUpstream(file string, written map[purekube.Upstream][]scenario.Line) string {
	file, _, _ = strings.Cut(file, "kube-controller-manager:\n")
	var b strings.Builder
	b.WriteString(file)
	texts := map[string][]string{}
	for _, r := range supported {
		if lines, other := written[r]; other {
			texts[textOf(lines)] = append(texts[textOf(lines)], string(r))
		}
	}
	if len(texts) > 0 {
		b.WriteString("kube-controller-manager:\n")
	}
	for _, text := range slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return strings.Compare(texts[a][0], texts[b][0]) }) {
		fmt.Fprintf(&b, "  %s:%s", strings.Join(texts[text], ", "), text)
	}
	return b.String()
}

// textOf are lines in YAML. Long ones are written with a line for each of their fields.
func textOf(lines []scenario.Line) string {
	if len(lines) == 0 {
		return " []\n"
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, l := range lines {
		text := "  - " + l.String()
		if len(text) <= 130 || len(l.Fields) == 0 {
			b.WriteString(text + "\n")
			continue
		}
		b.WriteString("  - " + l.Head + ":\n")
		for _, field := range slices.Sorted(maps.Keys(l.Fields)) {
			inner, isObject := l.Fields[field].(map[string]any)
			if line := "      " + field + ": " + scenario.Flow(l.Fields[field]); len(line) <= 130 || !isObject {
				b.WriteString(line + "\n")
				continue
			}
			b.WriteString("      " + field + ":\n")
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				b.WriteString("        " + name + ": " + scenario.Flow(inner[name]) + "\n")
			}
		}
	}
	return b.String()
}
