package lint

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

// claimTemplates finds the ResourceClaimTemplates that pods name and the input does not have.
func (l *linter) claimTemplates() {
	if !l.whole {
		return
	}
	there := map[types.NamespacedName]bool{}
	for _, t := range l.set.ClaimTemplates {
		if t != nil {
			there[types.NamespacedName{Namespace: t.Namespace, Name: t.Name}] = true
		}
	}
	for s := range sources(l.set) {
		for i, claim := range s.template.Spec.ResourceClaims {
			name := claim.ResourceClaimTemplateName
			if name == nil || there[types.NamespacedName{Namespace: s.key.Namespace, Name: *name}] {
				continue
			}
			field := strings.TrimPrefix(fmt.Sprintf("%s.spec.resourceClaims[%d].resourceClaimTemplateName", s.path, i), ".")
			l.find(ClaimTemplateMissing, s.key, field,
				fmt.Sprintf("no ResourceClaimTemplate %s in namespace %s of the input: the pods wait for it and are not scheduled",
					quoted(*name), quoted(s.key.Namespace)))
		}
	}
}

// Finds reports whether an error of [manifests.Load] with these places (the Refs of a [manifests.Error]) is a finding,
// too: Check reports a kind in the wrong API group as [APIVersionWrong]. A program that prints findings leaves such
// errors out. It is false for no places, and for an object that is there several times.
func Finds(refs []manifests.Ref) bool { return len(refs) == 1 && refs[0].KnownAs() != "" }

// apiVersions finds objects of a kind that exists in another API group.
func (l *linter) apiVersions() {
	for _, r := range l.set.Ignored {
		known := r.KnownAs()
		if known == "" {
			continue
		}
		key := purekube.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		l.findings = append(l.findings, Finding{
			Code: APIVersionWrong, Severity: severityOf(APIVersionWrong), Object: key, At: r, Field: "apiVersion",
			Message: fmt.Sprintf("is %s, which has no %s: must be %s. The object is not judged", r.APIVersion, r.Kind, known),
		})
	}
}
