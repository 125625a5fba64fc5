package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/manifests"
)

const allNodes = "all"

// all reports whether the drain is of every node of the input.
func (r *drainRequest) all() bool { return slices.Equal(r.nodes, []string{allNodes}) }

// takeNodes divides the arguments into nodes and the paths behind them. A node is an argument that can be the name of one and
// is no file or directory. The first argument is a node in any case, unless -waves makes do without.
func (inv *invocation) takeNodes(sys system) error {
	r := &inv.drain
	args := inv.paths
	if inv.about != "" {
		args = append([]string{inv.about}, args...)
	}
	for i, arg := range args {
		if err := sys.notANode(arg, i == 0 && !r.inWaves); err != nil {
			return err
		}
		if (i > 0 || r.inWaves) && !sys.mayNameNode(arg) {
			break
		}
		r.nodes = append(r.nodes, arg)
	}
	inv.paths = args[len(r.nodes):]
	switch {
	case len(r.nodes) == 0 && r.inWaves:
		r.nodes = []string{allNodes}
	case len(r.nodes) == 0:
		return fmt.Errorf("drain needs %s", inv.command.about)
	case len(r.nodes) > 1 && slices.Contains(r.nodes, allNodes):
		other := r.nodes[slices.IndexFunc(r.nodes, func(node string) bool { return node != allNodes })]
		return fmt.Errorf("drain all: there is no file or directory %s, and all takes no other node", other)
	}
	return r.check()
}

// mayNameNode reports whether the argument can be the name of a node, and is no path.
func (sys system) mayNameNode(arg string) bool { return looksLikeNode(arg) && !sys.exists(arg) }

func looksLikeNode(arg string) bool {
	return len(validation.IsDNS1123Subdomain(arg)) == 0 &&
		!slices.Contains([]string{".yaml", ".yml", ".json", ".gz"}, filepath.Ext(arg))
}

// exists reports whether there is such a file or directory.
func (sys system) exists(arg string) bool {
	stat := os.Stat
	if sys.files != nil {
		stat = func(name string) (fs.FileInfo, error) { return fs.Stat(sys.files, name) }
	}
	_, err := stat(arg)
	return err == nil
}

// notANode says what to write in place of an argument that names a node as kubectl get prints it, or a file where a node
// must be.
func (sys system) notANode(arg string, first bool) error {
	kind, name, slash := strings.Cut(arg, "/")
	switch {
	case slash && slices.Contains([]string{"node", "nodes", "no"}, kind) && name != "" && !sys.exists(arg):
		return fmt.Errorf("drain %s: write the name of the node alone: drain %s", arg, name)
	case first && !looksLikeNode(arg):
		return fmt.Errorf("drain %s: nodes, or all, come before files: drain all %s", arg, arg)
	}
	return nil
}

// podsOnNodes counts the pods of each node of the input, and finds pods by name. A node is one that has an object, or a pod.
func podsOnNodes(c *cluster) (pods map[string]int, podOf map[types.NamespacedName]*corev1.Pod) {
	pods, podOf = map[string]int{}, map[types.NamespacedName]*corev1.Pod{}
	for _, n := range c.Nodes {
		pods[n.Name] = 0
	}
	for _, p := range c.Pods {
		podOf[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
		if p.Spec.NodeName != "" {
			pods[p.Spec.NodeName]++
		}
	}
	return pods, podOf
}

// problems are what is wrong with the names of nodes and of paths: a table without rows, or a drained node of a misspelt name,
// would look like success.
func (r *drainRequest) problems(pods map[string]int, paths []string) (found []problem) {
	if r.all() {
		if len(pods) == 0 {
			found = append(found, problem{what: "no Node in the input, and no pod on a node"})
		}
		return found
	}
	for _, name := range r.nodes {
		if _, known := pods[name]; !known {
			found = append(found, problem{what: fmt.Sprintf("no Node %s in the input, and no pod on it", name)})
		}
	}
	for _, path := range paths {
		if _, known := pods[path]; known {
			found = append(found, problem{what: fmt.Sprintf(
				"%s is a node of the input, and a file or directory: write ./%s for the file or directory", path, path)})
		}
	}
	return found
}

// decidable are the nodes whose drains can be answered: none of their pods is of a namespace where a budget could not be read, for
// it may select them. The problem names the others. Of drains at the same time none can be answered then.
func (r *drainRequest) decidable(f *fleet, names []string) ([]string, []problem) {
	hidden, _ := f.c.HidesIn(manifests.PodDisruptionBudget) // question refuses what may be of any namespace
	without := map[string]bool{}
	for _, p := range f.c.Pods {
		if hidden[p.Namespace] {
			without[p.Spec.NodeName] = true
		}
	}
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return without[name] })
	if len(left) == len(names) {
		return names, nil
	}
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !without[name] })
	what := fmt.Sprintf("drain: not answered for %s (%s): a PodDisruptionBudget could not be read that may select pods there, of namespace %s",
		message.Count(len(others), "node"), list(others, 5), list(slices.Sorted(maps.Keys(hidden)), 5))
	if r.together {
		left, what = nil, what+"; so it is not answered for the nodes that drain together with them"
	}
	return left, []problem{{what: what}}
}

// budgetProblems joins what is wrong with the budgets in the namespaces of the pods on the nodes. A drain passes over a
// budget whose selector does not compile, as the API server does, and does not say so.
func (f *fleet) budgetProblems(nodes []string) error {
	drained, asked := setOf(nodes), map[string]bool{}
	var problems []error
	for _, p := range f.c.Pods {
		if drained[p.Spec.NodeName] && !asked[p.Namespace] {
			asked[p.Namespace] = true
			_, err := f.index.BudgetsFor(p)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// groups are the values of the label by node. The nodes that have no label, no object, or objects that differ have no group:
// they are in none, since a wave with one of them could have nodes of two groups.
func (r *drainRequest) groups(c *cluster, names []string) (of map[string]string, without []string) {
	of = map[string]string{}
	unknown := map[string]bool{}
	for _, n := range c.Nodes {
		value, labelled := n.Labels[r.by]
		before, again := of[n.Name]
		if !labelled || again && before != value {
			unknown[n.Name] = true
		}
		of[n.Name] = value
	}
	for _, name := range names {
		if _, known := of[name]; !known || unknown[name] {
			without = append(without, name)
		}
	}
	return of, without
}

// check says what is wrong with the flags together.
func (r *drainRequest) check() error {
	switch {
	case r.together && r.inWaves:
		return fmt.Errorf("-together and -waves: only one of them")
	case r.most < 0:
		return fmt.Errorf("-max %d: must be a number of nodes, or 0 for any number", r.most)
	case r.rounds < 0:
		return fmt.Errorf("-rounds %d: must be a number of rounds, or 0 for any number", r.rounds)
	case !r.inWaves && (r.most != 0 || r.rounds != 1 || r.by != ""):
		return fmt.Errorf("-max, -rounds and -by are for -waves")
	}
	if r.by != "" {
		if wrong := validation.IsQualifiedName(r.by); len(wrong) > 0 {
			return fmt.Errorf("-by %q: not the key of a label: %s", r.by, strings.Join(wrong, "; "))
		}
	}
	return nil
}

// checkReport says what is wrong with the flags of a report that draws waves.
func (r *drainRequest) checkReport(output string) error {
	if r.inWaves && output != outputHTML {
		return fmt.Errorf("-waves is for -o %s", outputHTML)
	}
	return r.check()
}
