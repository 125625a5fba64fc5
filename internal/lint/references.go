package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
			l.find(ClaimTemplateMissing, s.key, field, fmt.Sprintf("no ResourceClaimTemplate %s in namespace %s of the input: the pods wait for it and are not scheduled",
				quoted(*name), quoted(s.key.Namespace)))
		}
	}
}

// apiVersions finds objects of a kind that exists in another API group. Nothing reads them, so nothing else would
// tell.
func (l *linter) apiVersions() {
	for _, r := range l.set.Ignored {
		is := r.GroupKind()
		for _, kind := range manifests.Kinds() {
			builtin := slices.ContainsFunc(manifests.Kinds(), func(k schema.GroupKind) bool { return k.Group == is.Group })
			if kind.Kind != is.Kind || kind.Group == is.Group || !builtin {
				continue
			}
			key := purekube.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
			l.findings = append(l.findings, Finding{
				Code: APIVersionWrong, Severity: severityOf(APIVersionWrong), Object: key, At: r, Field: "apiVersion",
				Message: fmt.Sprintf("is %s, which has no %s: must be %s. The object is not judged", r.APIVersion, is.Kind, manifests.APIVersion(kind)),
			})
		}
	}
}
