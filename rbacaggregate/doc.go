// Package rbacaggregate decides the rules of aggregated ClusterRoles: those with an aggregationRule,
// as admin, edit and view have one, whose rules are collected from the ClusterRoles that its selectors
// match.
//
// The rules are, for each selector in order, those of the matching ClusterRoles in the order of their
// names, without the ClusterRole itself, each rule once. Two rules are one if they are semantically
// equal: nil and empty lists are, the order inside a list matters. Where that is not what stands in
// the ClusterRole, it is written.
//
// [Plan] and [PlanAll] return the writes, [Rules] the rules whether written or not, [Explain] where each
// rule comes from, [Affected] what to plan again after an event, and [Preview] what a write would give
// to whom, for a webhook.
//
// # The caller's duties
//
//  1. Give all ClusterRoles of the cluster, from a cache that has synced. A plan from half of them
//     takes away the rules of the other half.
//  2. After an event, plan what Affected names, or everything.
//  3. Carry a [SetRules] out as its Patch says: server-side apply, field manager [FieldManager], force.
//     Where the API server answers UnsupportedMediaType, update what Apply makes of the object.
//  4. The writer grants rules that it may not hold itself, so it needs the verb escalate on
//     clusterroles.
//
// # Bad input
//
// Problems are [purekube.ObjectError], joined; the rest is planned. A nil ClusterRole and one without
// a name are left out. Of a selector that does not convert, and of a name that two objects have, it
// cannot be known which rules come in: a ClusterRole that has such a selector, or aggregates such a
// name, is not written, and for those that aggregate it in turn its rules are the ones that stand in
// it, since it goes on granting these. Their outcomes name the problem too. An aggregationRule without
// selectors collects nothing; the empty selector matches every ClusterRole. Rules that somebody wrote
// by hand into an aggregated ClusterRole are replaced, as upstream does.
//
// # Upstream
//
// pkg/controller/clusterroleaggregation of Kubernetes v1.36.3; the rules are BR-27-01 … BR-27-06. By
// default the package differs from it as follows; with Options.MatchUpstream it does not.
//
//   - D-11: upstream reads the rules that stand in a source, so what is nested needs a round of
//     writes for each level, and what once went round a cycle stays there for ever. Here the rules
//     are computed from the ClusterRoles that do not aggregate, through all levels at once: one
//     write for each ClusterRole, with the rules that upstream comes to in the end. In a cycle,
//     every member has the rules that enter it anywhere, in an order in which upstream, too, finds
//     nothing to change.
//   - D-20: without any rules left upstream's apply does not mention rules, and those that another
//     manager set stay. Here it says that there are none.
//   - An apply carries the UID, so that it does not create a ClusterRole that was just deleted.
//
// The cost is about linear in the number of rules, for each level, and in the number of ClusterRoles
// that a selector matches. Upstream's is quadratic in the number of rules.
package rbacaggregate
