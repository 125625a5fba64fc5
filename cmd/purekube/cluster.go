package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/restson"
	"github.com/purekube/purekube/manifests"
)

// cluster is the input.
type cluster struct {
	*manifests.Set
	problems []problem
	// objects is how many objects were read.
	objects int
	// fullHealth: the pods of the workloads were added.
	fullHealth bool
	// madeNodes: nodes were added for them.
	madeNodes bool
	// live: the API server returned the objects, and no file has them.
	live bool
}

// maxNotes is how many notes are printed.
const maxNotes = 20

// sayNotes prints the notes, a line each.
func (c *cluster) sayNotes(w io.Writer) {
	for i, n := range c.Notes {
		if i == maxNotes {
			fmt.Fprintf(w, "Note: %s are not printed\n", message.Count(len(c.Notes)-i, "more note"))
			return
		}
		fmt.Fprintln(w, visibleLine(visible("Note: "+n.String())))
	}
}

// load reads the input. What is wrong with it is among the problems.
func load(o manifests.Options, paths ...string) *cluster {
	set, err := manifests.Load(o, paths...)
	c := &cluster{Set: set, objects: set.Len()}
	for _, e := range manifests.Errors(err) {
		p := problem{refs: e.Refs, field: e.Field, what: e.Err.Error(), unread: e.EndsEarly}
		if len(e.Refs) > 0 {
			p.object = message.Object(e.Refs[0].Kind, e.Refs[0].Namespace, e.Refs[0].Name)
		}
		if errors.Is(e, manifests.ErrDuplicate) {
			p.what = purekube.ErrDuplicate.Error() // the plans say the same, and it is printed once
		}
		c.problems = append(c.problems, p)
	}
	return c
}

// noteNamespace adds a note if all pods that an API server returned are in one namespace. Nodes have pods of several.
func (c *cluster) noteNamespace() {
	namespaces := map[string]bool{}
	for _, p := range c.Pods {
		if p.UID == "" || p.ResourceVersion == "" {
			return // a manifest, which is about one application
		}
		namespaces[p.Namespace] = true
	}
	if len(namespaces) == 1 {
		c.Notes = append(c.Notes, manifests.Note{Text: fmt.Sprintf(
			"all pods of the input are in namespace %s: if kubectl get ran without -A, the other pods of the nodes are not in "+
				"the answer", c.Pods[0].Namespace)})
	}
}

// nodesWithRoom are the nodes of the input, on which evicted pods may run. Nil: there are none, or it is not known what
// room they have, since they were made for --at-full-health.
func (c *cluster) nodesWithRoom() []*corev1.Node {
	if c.madeNodes {
		return nil
	}
	return c.Nodes
}

// nodesNote says that drains do not know all nodes on which evicted pods may run. It is empty if they do.
func (c *cluster) nodesNote() string {
	switch {
	case len(c.Pods) == 0:
		return ""
	case c.madeNodes:
		return "The room of the nodes that --nodes adds is not known: evicted pods are assumed to find a node."
	case len(c.Nodes) == 0:
		return "No Node in the input: evicted pods are assumed to find a node."
	}
	unknown := restson.UnknownNodes(c.Set)
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf("Pods run on nodes that are not in the input (%s): evicted pods are not placed there.",
		list(slices.Sorted(maps.Keys(unknown)), 5))
}

// kindNamed is the kind of this name. Names of kinds that a set has objects of are unique.
func kindNamed(name string) schema.GroupKind {
	for _, kind := range manifests.Kinds() {
		if kind.Kind == name {
			return kind
		}
	}
	return schema.GroupKind{Kind: name}
}

func kindsNamed(names []string) []schema.GroupKind {
	kinds := make([]schema.GroupKind, len(names))
	for i, name := range names {
		kinds[i] = kindNamed(name)
	}
	return kinds
}

// titleOf is "Kind namespace/name".
func titleOf(k purekube.Key) string { return message.Object(k.Kind, k.Namespace, k.Name) }

// count is how many objects of the kind the input has.
func (c *cluster) count(kind string) int { return c.Count(kindNamed(kind)) }

// has reports whether the input has objects of any of these kinds.
func (c *cluster) has(kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return c.count(kind) > 0 })
}

// hides reports whether an object that could not be read is, or may be, of the kind.
func (c *cluster) hides(kind string) bool { return c.Hides(kindNamed(kind)) }

// saw reports whether it is known which objects of the kind the cluster has.
func (c *cluster) saw(kind string) bool { return c.Seen[kindNamed(kind)] }

// refs are where files have the object.
func (c *cluster) refs(key purekube.Key) []manifests.Ref {
	if c.live {
		return nil
	}
	return c.Refs(key)
}

// withoutPlaces takes lines and numbers in lists out of what is said about objects of a cluster: nobody sees these
// lists. Where no object is named, the resource stays.
func (c *cluster) withoutPlaces() {
	c.live = true
	for i, p := range c.problems {
		if p.object != "" {
			c.problems[i].refs = nil
			continue
		}
		c.problems[i].refs = slices.Clone(p.refs)
		for j := range p.refs {
			c.problems[i].refs[j] = manifests.Ref{File: p.refs[j].File}
		}
	}
	for i := range c.Notes {
		at := &c.Notes[i].At
		at.Document, at.Item, at.Line = 0, 0, 0
		if at.Kind != "" {
			at.File = ""
		}
	}
}

// holds reports whether the object is there, read or made.
func (c *cluster) holds(key purekube.Key) bool {
	return len(c.Refs(key)) > 0 ||
		key.Kind == "Pod" && slices.ContainsFunc(c.Pods, func(p *corev1.Pod) bool {
			return p.Namespace == key.Namespace && p.Name == key.Name
		}) ||
		key.Kind == "Node" && slices.ContainsFunc(c.Nodes, func(n *corev1.Node) bool { return n.Name == key.Name }) ||
		key.Kind == "ClusterRole" && slices.ContainsFunc(c.ClusterRoles, func(r *rbacv1.ClusterRole) bool {
			return r.Name == key.Name
		})
}

// atFullHealth adds the pods of the workloads, on the nodes of the input and so many more.
func (c *cluster) atFullHealth(nodes int) {
	full, err := c.WithNodes(nodes).AtFullHealth()
	c.fullHealth, c.madeNodes = true, nodes > 0
	c.Set = full
	for _, err := range flatten(err) {
		p := problemOf(err, purekube.Key{}, c)
		p.ofPlan = false
		c.problems = append(c.problems, p)
	}
}

// makesPods are the kinds that no core plans with, and that say which pods there are at full health.
var makesPods = []schema.GroupKind{manifests.DaemonSet, manifests.Job, manifests.HorizontalPodAutoscaler}

// skipped counts the objects that no core plans with, by API version and kind.
func (c *cluster) skipped() map[string]int {
	skipped := map[string]int{}
	for _, r := range c.Ignored {
		if r.KnownAs() != "" {
			continue // among the problems
		}
		skipped[strings.TrimSpace(r.APIVersion+" "+r.Kind)]++
	}
	for _, w := range c.CustomWorkloads {
		made := c.fullHealth && w.Template != nil
		if !made && !slices.ContainsFunc(c.Notes, func(n manifests.Note) bool { return n.At == w.At }) {
			skipped[w.APIVersion+" "+w.Kind]++
		}
	}
	for _, o := range c.ScaledObjects {
		if !c.fullHealth { // they say which pods there are at full health
			skipped[o.APIVersion+" "+o.Kind]++
		}
	}
	for _, kind := range manifests.Kinds() {
		n := c.Count(kind)
		if c.fullHealth && slices.Contains(makesPods, kind) {
			continue
		}
		if n > 0 && !slices.ContainsFunc(cores, func(core core) bool { return slices.Contains(core.reads, kind.Kind) }) {
			skipped[kind.String()] += n
		}
	}
	return skipped
}

// somethingFor reports whether there is anything in the input that one of the cores plans with. If there is not, and
// nothing is wrong with the input either, that is a problem: an empty report would look as if all were well.
func (c *cluster) somethingFor(selected []core) bool {
	var kinds, names []string
	for _, core := range selected {
		kinds = append(kinds, core.reads...)
		names = append(names, core.name)
	}
	if c.has(kinds) {
		return true
	}
	switch {
	case len(c.problems) > 0:
	case len(selected) == len(cores):
		c.problems = append(c.problems, problem{what: c.noneIs() + " of a kind that purekube plans with"})
	default:
		c.problems = append(c.problems, problem{what: fmt.Sprintf("%s of a kind that %s plans with: %s",
			c.noneIs(), strings.Join(names, ", "), strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), ", "))})
	}
	return false
}

// noneIs begins a sentence about all objects of the input.
func (c *cluster) noneIs() string {
	if c.objects == 1 {
		return "the input object is not"
	}
	return fmt.Sprintf("none of the %d input objects is", c.objects)
}

// problem is one thing that is wrong with the input.
type problem struct {
	refs   []manifests.Ref
	object string // "Kind namespace/name", or empty
	field  string
	what   string
	// ofPlan: the input is what the API server would hold, and a plan ended with an error.
	ofPlan bool
	// unread: what follows in the input was not read.
	unread bool
	// hides is a kind that the cluster did not list.
	hides schema.GroupKind
}

// String is one line: file, document number, object, field, what is wrong.
func (p problem) String() string {
	var places []string
	for _, at := range p.refs {
		places = append(places, at.String())
	}
	parts := []string{strings.Join(places, " and "), p.object, p.field, p.what}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}
