package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/restson"
)

const allNodes = "all"

// all reports whether the drain is of every node of the input, or of every one that the selector selects.
func (r *drainRequest) all() bool { return slices.Equal(r.nodes, []string{allNodes}) }

// checkNodes says what is wrong with the nodes to drain, and takes all of them for waves without nodes.
func (r *drainRequest) checkNodes() error {
	for i, arg := range r.nodes {
		kind, name, slash := strings.Cut(arg, "/")
		if slash && slices.Contains([]string{"node", "nodes", "no"}, kind) {
			r.nodes[i] = name
		}
		if len(validation.IsDNS1123Subdomain(r.nodes[i])) > 0 ||
			slices.Contains([]string{".yaml", ".yml", ".json", ".gz"}, filepath.Ext(arg)) {
			return fmt.Errorf("drain %s: not the name of a node (-f reads files)", arg)
		}
	}
	var err error
	if r.selector != "" {
		if r.selects, err = labels.Parse(r.selector); err != nil {
			return fmt.Errorf("--selector %q: %w", r.selector, err)
		}
	}
	switch {
	case r.selector != "" && len(r.nodes) > 0:
		return fmt.Errorf("drain takes either the names of nodes or --selector")
	case len(r.nodes) == 0 && (r.inWaves || r.selector != ""):
		r.nodes = []string{allNodes}
	case len(r.nodes) == 0:
		return fmt.Errorf("drain needs the names of nodes, or all, or --selector")
	case len(r.nodes) > 1 && slices.Contains(r.nodes, allNodes):
		return fmt.Errorf("drain all takes no other node (-f reads files)")
	}
	return r.check()
}

// podsOnNodes counts the pods of each node of the input, and finds pods by name. A node is one that has an object, or a
// pod.
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

// problems are what is wrong with the names of nodes: a table without rows, or a drained node of a misspelt name, would
// look like success.
func (r *drainRequest) problems(f *fleet) (found []problem) {
	switch {
	case r.selects != nil && len(r.names(f)) == 0:
		return []problem{{what: fmt.Sprintf("no Node in the input has the labels %s", r.selector)}}
	case r.all() && len(f.pods) == 0:
		return []problem{{what: "no Node in the input, and no pod on a node"}}
	case r.all():
		return nil
	}
	for _, name := range r.nodes {
		if _, known := f.pods[name]; !known {
			found = append(found, problem{what: fmt.Sprintf("no Node %s in the input, and no pod on it", name)})
		}
	}
	return found
}

// decidable are the nodes whose drains can be answered: none of their pods is of a namespace where a budget could not
// be read, for it may select them. The problem names the others. Of drains at the same time none can be answered then.
func (r *drainRequest) decidable(f *fleet, names []string) ([]string, []problem) {
	// question refuses what may be of any namespace
	without, hidden := restson.NodesWithoutBudgets(f.c.Set)
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return without[name] })
	if len(left) == len(names) {
		return names, nil
	}
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !without[name] })
	what := fmt.Sprintf("drain: not answered for %s (%s): a PodDisruptionBudget that may select pods "+
		"there could not be read, in namespace %s",
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

// groups are the values of the label by node. The nodes that have no label, no object, or objects that differ have no
// group: they are in none, since a wave with one of them could have nodes of two groups.
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
		return fmt.Errorf("--together and --waves: only one of them")
	case r.most < 0:
		return fmt.Errorf("--max %d: must be a number of nodes, or 0 for any number", r.most)
	case r.rounds < -1 || r.rounds == 0: // 0 would be one round to WaveOptions
		return fmt.Errorf("--rounds %d: must be a number of rounds, or -1 for any number", r.rounds)
	case !r.inWaves && (r.most != 0 || r.rounds != 1 || r.by != ""):
		return fmt.Errorf("--max, --rounds and --by are for --waves")
	}
	for flag, key := range map[string]string{"by": r.by, "pool": r.pool} {
		if wrong := validation.IsQualifiedName(key); key != "" && len(wrong) > 0 {
			return fmt.Errorf("--%s %q: not the key of a label: %s", flag, key, strings.Join(wrong, "; "))
		}
	}
	return nil
}

// checkReport says what is wrong with the flags of a report that draws waves.
func (r *drainRequest) checkReport(output string) error {
	if r.inWaves && output != outputHTML {
		return fmt.Errorf("--waves is for -o %s", outputHTML)
	}
	if r.pool != "" && output != outputHTML {
		return fmt.Errorf("--pool is for -o %s", outputHTML)
	}
	return r.check()
}
