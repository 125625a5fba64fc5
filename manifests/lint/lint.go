// Package lint judges manifests before they reach a cluster: budgets that block every drain, ClusterRoles that grant
// more than their label says, references that lead nowhere.
//
//	set, err := manifests.Load(manifests.Options{}, "chart/")
//	for _, e := range manifests.Errors(err) {
//		if !lint.Finds(e.Refs) { // otherwise a finding says it
//			fmt.Println(e)
//		}
//	}
//	for _, f := range lint.Check(set).Findings {
//		if f.Severity.AtLeast(lint.Warning) {
//			fmt.Println(f.At, f.Severity, f.Code, f.Object, f.Field, f.Message)
//		}
//	}
//
// Everything here is pure: a set in, findings out, and the same set gives the same findings.
//
// You have these duties:
//
//  1. Treat an error of [manifests.Load] as a failure, unless [Finds] says that a finding has it. Check judges what was
//     read, and says nothing about the rest.
//  2. Test a finding by its [Code], which keeps its meaning. A new version may add codes and change messages.
//
// The page of a code has a manifest with the finding and one without: [docs/lint].
//
// [docs/lint]: https://github.com/purekube/purekube/blob/main/docs/lint/README.md
package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

// ignoreAnnotation lists the codes that are not reported for its object, with commas between them.
const ignoreAnnotation = "purekube.io/lint-ignore"

// Finding is one thing that somebody should change. It is comparable.
type Finding struct {
	Code Code
	// Severity is the severity of the code.
	Severity Severity
	Object   purekube.Key
	// At is where the object is in the input: the first place, if the object is there several times. It is zero for an
	// object that [manifests.Load] did not read.
	At manifests.Ref
	// Field is the path as manifests spell it, for example "spec.minAvailable". It is empty for the object as a whole.
	Field string
	// Message says what is wrong with the field, in one line without the object and the field. It may quote the manifest.
	Message string
}

// Result is what Check found, sorted by place, object, code, field and message.
type Result struct {
	Findings []Finding
	// Suppressed are the findings whose object has the annotation purekube.io/lint-ignore with their code in its list.
	Suppressed []Finding
}

// Check judges the objects of the set, and returns its findings. A set without pods, as a chart is, is judged with the
// pods that its workloads have when all is well: see [manifests.Set.AtFullHealth]. ClusterRoles are judged together
// with [manifests.BuiltinClusterRoles].
//
// It has no error: an object that cannot be judged is a finding, nil and nameless objects are passed over, and a nil
// set has no findings. It says nothing about objects that are not in the set. If [manifests.Set.Complete] is false or
// objects are unreadable, Check leaves out findings that rest on what is absent (a budget that selects nothing, a
// missing template). So treat such input as an error. Complete is false in a set that you make yourself, unless you set
// it.
//
// Pods of one workload cost as much as one pod. A pod without a controller costs something for each budget that selects
// it, since each budget counts it: 1,000 such pods and 100 budgets that select all of them take 0.05 s, 10,000 pods and
// 1,000 budgets 6.2 s (BenchmarkPodsWithoutController, 2 cores of AMD EPYC, 2026-11-25).
func Check(set *manifests.Set) Result {
	if set == nil {
		return Result{}
	}
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
		list, found := o.GetAnnotations()[ignoreAnnotation]
		if !found {
			continue
		}
		if ignored[key] == nil {
			ignored[key] = map[Code]bool{}
		}
		for text := range strings.SplitSeq(list, ",") {
			code := Code(strings.TrimSpace(text))
			if severityOf(code) == NoSeverity {
				l.find(SuppressionUnknown, key, "metadata.annotations["+ignoreAnnotation+"]",
					"lists "+quoted(string(code))+", which is not a code: nothing is suppressed by it")
				continue
			}
			ignored[key][code] = true
		}
	}
	return ignored
}
