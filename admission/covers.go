package admission

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxComparisons bounds the work for one protected ClusterRole: how often an entry of a rule, or each 32 bytes of a
// long one, may be looked for in another rule. Writers choose both rules.
const maxComparisons = 10_000_000

// coverage says which rules are covered by a list of others: every single thing that they allow is allowed by one of
// the others. It is what Covers of k8s.io/component-helpers says, without its product of verbs, groups, resources and
// names.
type coverage struct {
	all, allNames []*coveringRule  // allNames: without resourceNames
	same          sets.Set[string] // the texts of the covering rules
	// left is how many comparisons are left. After the last one nothing is covered.
	left int
}

// coveringRule has the lists of a rule as sets. prefixes are its URLs that end in "*", without that, and allNames says
// that it has no resourceNames.
type coveringRule struct {
	verbs, groups, resources, names, urls sets.Set[string]
	prefixes                              []string
	allNames                              bool
}

func newCoverage(rules ...rbacv1.PolicyRule) *coverage {
	c := &coverage{same: sets.New[string](), left: maxComparisons}
	for _, r := range rules {
		text := textOf(r)
		if c.same.Has(text) {
			continue
		}
		c.same.Insert(text)
		by := &coveringRule{
			verbs: sets.New(r.Verbs...), groups: sets.New(r.APIGroups...), resources: sets.New(r.Resources...),
			names: sets.New(r.ResourceNames...), urls: sets.New(r.NonResourceURLs...), allNames: len(r.ResourceNames) == 0,
		}
		for _, url := range r.NonResourceURLs {
			if strings.HasSuffix(url, "*") {
				by.prefixes = append(by.prefixes, strings.TrimRight(url, "*"))
			}
		}
		if c.all = append(c.all, by); by.allNames {
			c.allNames = append(c.allNames, by)
		}
	}
	return c
}

// textOf is different for different rules.
func textOf(r rbacv1.PolicyRule) string {
	return fmt.Sprintf("%q", [][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs})
}

// part is one list of a rule, and how a covering rule covers an entry of it.
type part struct {
	entries []string
	covers  func(by *coveringRule, entry string) bool
}

func coversVerb(by *coveringRule, verb string) bool { return by.verbs.HasAny(rbacv1.VerbAll, verb) }

func coversGroup(by *coveringRule, group string) bool {
	return by.groups.HasAny(rbacv1.APIGroupAll, group)
}

func coversName(by *coveringRule, name string) bool { return by.allNames || by.names.Has(name) }

// coversResource: "*/scale" covers the subresource of every resource.
func coversResource(by *coveringRule, resource string) bool {
	_, subresource, is := strings.Cut(resource, "/")
	return by.resources.HasAny(rbacv1.ResourceAll, resource) || is && by.resources.Has("*/"+subresource)
}

// coversURL: "/api/*" covers all paths that begin with "/api/".
func (c *coverage) coversURL(by *coveringRule, url string) bool {
	c.left -= len(by.prefixes)
	return by.urls.Has(url) || slices.ContainsFunc(by.prefixes, func(prefix string) bool {
		return strings.HasPrefix(url, prefix)
	})
}

// covers reports whether a rule is covered. It is false as well if that takes too many comparisons: left is negative
// then.
func (c *coverage) covers(r rbacv1.PolicyRule) bool {
	if c.same.Has(textOf(r)) {
		return true
	}
	verbs := part{r.Verbs, coversVerb}
	// As upstream has it, a URL is covered only by a rule without resourceNames, and every name only by such a rule.
	if !c.each(c.allNames, part{r.NonResourceURLs, c.coversURL}, verbs) {
		return false
	}
	resources := []part{{r.Resources, coversResource}, {r.APIGroups, coversGroup}, verbs}
	if len(r.ResourceNames) == 0 {
		return c.each(c.allNames, resources...)
	}
	return c.each(c.all, append(resources, part{r.ResourceNames, coversName})...)
}

// each reports whether every combination of one entry of each part is covered by one of the rules.
func (c *coverage) each(rules []*coveringRule, parts ...part) bool {
	// A part without entries makes no combination. One rule that covers all parts covers all combinations.
	if slices.ContainsFunc(parts, func(p part) bool { return len(p.entries) == 0 }) ||
		slices.ContainsFunc(rules, func(by *coveringRule) bool { return c.whole(by, parts) }) {
		return true
	}
	if len(parts) == 0 || len(rules) == 0 {
		return false
	}
	for _, entry := range parts[0].entries {
		var left []*coveringRule
		for _, by := range rules {
			if c.one(by, parts[0], entry) {
				left = append(left, by)
			}
		}
		if !c.each(left, parts[1:]...) {
			return false
		}
	}
	return true
}

// whole reports whether one rule covers all entries of all parts.
func (c *coverage) whole(by *coveringRule, parts []part) bool {
	for _, p := range parts {
		for _, entry := range p.entries {
			if !c.one(by, p, entry) {
				return false
			}
		}
	}
	return true
}

// one reports whether a rule covers one entry of a part. Without comparisons left it does not.
func (c *coverage) one(by *coveringRule, p part, entry string) bool {
	c.left -= 1 + len(entry)/32
	return c.left >= 0 && p.covers(by, entry)
}
