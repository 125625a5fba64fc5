package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

func registerExplain(inv *invocation, flags *pflag.FlagSet) {
	registerUpstream(inv, flags, "match-upstream",
		"explain what kube-controller-manager of this `release` would do, its defects included: ")
	registerState(inv, flags)
	registerWatch(inv, flags)
}

// runExplain prints what is known about one object.
func runExplain(inv invocation, sys system) int {
	key, cores, err := inv.object()
	if err != nil {
		sys.say(err)
		return exitInput
	}
	inv.explain, inv.cores = true, cores
	objects := inv.load(sys)
	if !objects.holds(key) {
		what := fmt.Sprintf("no %s in the input", titleOf(key))
		if !objects.saw(key.Kind) {
			what += fmt.Sprintf(", and no other %s: %q prints what the answer rests on", key.Kind, getCommand(cores[0].reads))
		} else if strings.Count(inv.about, "/") == 1 && key.Namespace != "" {
			what += fmt.Sprintf(": write %s/NAMESPACE/%s for another namespace", key.Kind, key.Name)
		}
		objects.problems = append(objects.problems, problem{what: what})
		inv.cores = nil // that there is nothing to do for it would be an answer
	}
	rep := inv.report(objects)
	switch key.Kind {
	case "Pod":
		rep.addEviction(key, objects, inv.settings)
	case "Node":
		rep.addDrain(key, objects, inv.settings)
	}
	rep.only(key)
	rep.sayProblems(inv, sys)
	if inv.output == outputJSON {
		return inv.end(rep, rep.writeJSON(&visibleWriter{w: sys.stdout}), sys)
	}
	return inv.end(rep, rep.writeText(sys.stdout, palette(sys.colour)), sys)
}

// object is the object that explain is about, and the cores that plan such objects. It is written as KIND/NAME or
// KIND/NAMESPACE/NAME, with the kind as kubectl takes it.
func (inv *invocation) object() (key purekube.Key, about []core, err error) {
	if key, err = purekube.ParseKey(inv.about); err != nil {
		return key, nil, err
	}
	kinds, err := parseKinds(key.Kind)
	if err != nil {
		return key, nil, err
	}
	key.Kind = kinds[0]
	if key.Namespace == "" && manifests.Namespaced(kindNamed(key.Kind)) {
		key.Namespace = cmp.Or(ptr.Deref(inv.kube.Namespace, ""), "default")
	}
	for _, c := range cores {
		if slices.Contains(c.explains, key.Kind) {
			about = append(about, c)
		}
	}
	if len(about) == 0 {
		return key, nil, fmt.Errorf("%s: no controller plans a %s; these are explained: %s", inv.about, key.Kind,
			strings.Join(explainedKinds(), ", "))
	}
	return key, about, nil
}

func explainedKinds() []string {
	var kinds []string
	for _, c := range cores {
		kinds = append(kinds, c.explains...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// only keeps the findings about one object.
func (r *report) only(key purekube.Key) {
	for i := range r.Sections {
		s := &r.Sections[i]
		s.Findings = slices.DeleteFunc(s.Findings, func(f finding) bool { return f.Object != key })
		if key.Kind != "Node" {
			s.Explanation = nil
		}
	}
	r.Skipped = nil
	if _, _, needs := r.counts(); needs == 0 {
		r.Notes = nil // they are about other objects
	}
}

// findingOf returns the finding about the object in the plan of the core, a new one where the plan is silent. It is nil
// where the core has not planned or the object is not in the input: both are said.
func (r *report) findingOf(key purekube.Key, core string, c *cluster) *finding {
	i := slices.IndexFunc(r.Sections, func(s section) bool { return s.Core == core })
	if i < 0 || !c.holds(key) {
		return nil
	}
	s := &r.Sections[i]
	j := slices.IndexFunc(s.Findings, func(f finding) bool { return f.Object == key })
	if j < 0 {
		j = len(s.Findings)
		s.Findings = append(s.Findings, finding{Object: key})
	}
	return &s.Findings[j]
}
