// Package lint judges manifests before they reach a cluster: budgets that block every drain, ClusterRoles that grant
// more than their label says, references that lead nowhere.
//
//	result := lint.Check(set)
//	for _, f := range result.Findings {
//		fmt.Println(f.At, f.Severity, f.Code, f.Message)
//	}
//
// It is pure: a set in, findings out. Package manifests says what is wrong with the files themselves, and whether
// they were read to their end; look at that first. docs/lint has a page for each code, with a manifest that gives it
// and one that does not.
package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

// Ignore is the annotation whose value lists the codes that are not reported for its object, with commas between
// them.
const Ignore = "purekube.io/lint-ignore"

// Finding is one thing that somebody should change.
type Finding struct {
	Code     Code
	Severity Severity
	Object   purekube.Key
	// At is where the object is in the input. It is zero for an object that was not read from a file.
	At manifests.Ref
	// Field is the path as manifests spell it. It is empty for the object as a whole.
	Field   string
	Message string
}

// Result is what Check found, sorted by place, object, code, field and message.
type Result struct {
	Findings []Finding
	// Suppressed are the findings whose object has the annotation [Ignore] with their code.
	Suppressed []Finding
}

// Check judges the objects of the set. A set without pods, as a chart is, is judged with the pods that its workloads
// have when all is well: see [manifests.Set.AtFullHealth]. ClusterRoles are judged together with
// [manifests.BuiltinClusterRoles].
//
// It says nothing about objects that are not in the set. Where some could not be read, findings that rest on their
// absence (a budget that selects nothing, a missing template) are left out: the caller must treat such input as an
// error.
//
// Pods of one workload cost as much as one pod. A pod without a controller costs something for each budget that selects
// it, since each budget counts it: 1,000 such pods and 100 budgets that select all of them take 0.05 s, 10,000 pods and
// 1,000 budgets 6.2 s (BenchmarkPodsWithoutController, 2 cores of AMD EPYC, 2026-11-25).
func Check(set *manifests.Set) Result {
	l := &linter{set: set, whole: set.Complete && len(set.Unreadable) == 0}
	l.apiVersions()
	l.budgets()
	l.roles()
	l.claimTemplates()
	l.serviceCIDRs()
	return l.result()
}

// linter collects findings.
type linter struct {
	set *manifests.Set
	// whole: every object of the input was read.
	whole    bool
	findings []Finding
	// broken are the namespaces with a workload whose pods are not known.
	broken map[string]bool
}

// find adds a finding.
func (l *linter) find(code Code, object purekube.Key, field, message string) {
	f := Finding{Code: code, Severity: severityOf(code), Object: object, Field: field, Message: message}
	if refs := l.set.Refs(object); len(refs) > 0 {
		f.At = refs[0]
	}
	l.findings = append(l.findings, f)
}

// result sorts the findings, and sets those apart that are suppressed.
func (l *linter) result() Result {
	ignored := l.suppressions()
	slices.SortFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), a.Object.Compare(b.Object),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	var r Result
	for _, f := range slices.Compact(l.findings) {
		if ignored[f.Object][f.Code] {
			r.Suppressed = append(r.Suppressed, f)
		} else {
			r.Findings = append(r.Findings, f)
		}
	}
	return r
}

// suppressions are the codes that annotations list, by object. A code that does not exist is a finding.
func (l *linter) suppressions() map[purekube.Key]map[Code]bool {
	ignored := map[purekube.Key]map[Code]bool{}
	for _, o := range l.set.Objects() {
		key := manifests.KeyOf(o)
		if key == (purekube.Key{}) {
			continue
		}
		list, found := o.GetAnnotations()[Ignore]
		if !found {
			continue
		}
		if ignored[key] == nil {
			ignored[key] = map[Code]bool{}
		}
		for text := range strings.SplitSeq(list, ",") {
			code := Code(strings.TrimSpace(text))
			if severityOf(code) == NoSeverity {
				l.find(SuppressionUnknown, key, "metadata.annotations["+Ignore+"]", "lists "+quoted(string(code))+", which is not a code: nothing is suppressed by it")
				continue
			}
			ignored[key][code] = true
		}
	}
	return ignored
}
