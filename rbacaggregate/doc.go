// Package rbacaggregate decides the rules of aggregated ClusterRoles, for example admin, edit and view: the rules of
// all ClusterRoles that the selectors of their aggregationRule match. It also previews what a write would change.
//
//	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
//	result, err := index.Plan(rbacaggregate.Key("admin"))
//	fmt.Println(result.Actions, err) // [SetRules admin: 12 rules] <nil>
//
//	change, err := index.PreviewRole(newRole, rbacaggregate.Key("admin")) // before the write
//	fmt.Println("admin will get", change.Added, err)
//
// # Rules
//
//   - BR-27-01: after a change of a ClusterRole, every ClusterRole with an aggregationRule is evaluated again. By
//     default, [Index.With] names only the ClusterRoles that the change can reach.
//   - BR-27-02: the ClusterRoles that a selector matches are read in the order of their names, the selectors in
//     their own order, and the rules of a ClusterRole in theirs.
//   - BR-27-03: a ClusterRole does not collect its own rules, even if one of its selectors matches it.
//   - BR-27-04: each rule is collected once. Rules are equal if they are semantically equal: nil and empty lists are,
//     and the order in a list matters. If the collected rules equal the stored rules, nothing is written.
//   - BR-27-05: rules are written by server-side apply. If the API server answers 415 UnsupportedMediaType, send an
//     update with the body that [SetRules.Apply] makes. Kubernetes v1.36 and later have no such fallback.
//   - BR-27-06: the field manager is clusterrole-aggregation-controller, and the apply is forced.
//
// # Your duties
//
//  1. Give all ClusterRoles of the cluster, from a cache that has synced: any of them may match a selector. A plan from
//     half of them takes away the rules of the other half.
//  2. After an event, plan the keys that [Index.With] or [Index.Without] names.
//  3. Send the [purekube.Request] of each action. After 409 Conflict (the ClusterRole is gone) and 422 Invalid on
//     metadata.uid (another ClusterRole has the name), drop the action, and plan the key again when the cache has
//     caught up. Retry 422 on the rules, and other errors, with back-off.
//  4. Do not retry an error of Plan. It names ClusterRoles that somebody must fix, and their events bring the keys
//     back. The actions of a result with an error are right: send their requests. In a webhook, refuse the write.
//  5. Give the account the verb escalate on clusterroles, beside patch, get, list and watch: it grants rules that it
//     may not have itself.
//  6. Switch off the clusterrole-aggregation-controller of kube-controller-manager. If you cannot, set
//     Options.MatchUpstream: then both write the same. By default, both end with the same rules, except for D-11 and
//     D-35.
//
// # Bad input
//
// A nil ClusterRole and a ClusterRole without a name are a [purekube.ObjectError] and are left out. If a selector does
// not convert, the rules of the aggregating ClusterRole are unknown. It is not written and keeps its rules; a
// ClusterRole that aggregates it gets no new rules from it (D-35). While several ClusterRoles have one name, nothing is
// written: it is unknown which of them is current, and so which selectors match it.
//
// # Cost and source
//
// An event costs O(log n) for each label, and what it affects. Plan is linear in the sources and their rules. n
// ClusterRoles that all select each other make n² rules. Selectors that all demand different label keys can cost
// n² too, if ClusterRoles have all of these labels. The source is pkg/controller/clusterroleaggregation of Kubernetes
// v1.36.3 and v1.37.2. D-11, D-20, D-26 and D-35 differ: see docs/divergences.md.
package rbacaggregate
