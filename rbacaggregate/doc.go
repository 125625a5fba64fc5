// Package rbacaggregate decides the rules of aggregated ClusterRoles: those with an aggregationRule,
// for example admin, edit and view. Their rules are collected from the ClusterRoles that the selectors
// of the aggregationRule match.
//
//	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
//	result, err := index.Plan(rbacaggregate.Key("admin"))
//	// result.Actions is empty, or has the SetRules that writes the rules of admin.
//
// [Plan] and [PlanAll] return the writes. [Rules] returns the rules whether they are written or not.
// [Explain] and [ExplainAll] say where each rule comes from. [PreviewRole] says what becomes of one ClusterRole, admin
// for example, after a write; [Preview] and [PreviewDelete] say it of all that the write affects.
//
// Each of these functions passes over the whole snapshot. An [Index] does that once and answers the same
// questions by methods. [Index.With] and [Index.Without] take events, and name the ClusterRoles to plan again.
// [Index.Grants] is for admission webhooks: it returns every rule that a write may give to one
// ClusterRole at any time, whoever aggregates.
//
// # Rules
//
//   - BR-27-01: after any change of a ClusterRole, every ClusterRole with an aggregationRule is
//     evaluated again. By default Index.With names only those that the change can reach.
//   - BR-27-02: the ClusterRoles that a selector matches are read in the order of their names. The
//     selectors are read in their own order, and the rules of a ClusterRole in theirs.
//   - BR-27-03: a ClusterRole does not collect its own rules, even if one of its selectors matches it.
//   - BR-27-04: each rule is collected once, in the first place. Two rules are the same if they are
//     semantically equal: nil and empty lists are, the order inside a list matters. Nothing is written
//     if the rules that are collected are semantically equal to those that are stored.
//   - BR-27-05: rules are written by server-side apply. Where the API server answers 415
//     UnsupportedMediaType, an update takes its place: [SetRules.Apply] makes its body.
//     Kubernetes v1.36 and later have no such fallback.
//   - BR-27-06: the field manager is clusterrole-aggregation-controller, and the apply is forced.
//
// # The caller's duties
//
//  1. Give all ClusterRoles of the cluster, from a cache that has synced. A plan from half of them takes
//     away the rules of the other half. Nothing less is enough, for one name either: any ClusterRole
//     may match a selector. No other kind is read.
//  2. After an event, plan what [Index.With] or [Index.Without] names, or everything.
//  3. Make the call that Request returns. 409 Conflict means that the ClusterRole is gone, 422 Invalid
//     on metadata.uid that another one has its name now: in both cases drop the action and plan the
//     name again when the cache has caught up. An apply is never answered with 404 Not Found; the
//     update that takes its place is, if the ClusterRole is gone, and with 409 Conflict if it has
//     changed: read it again and plan again. 422 Invalid on the rules themselves comes
//     back until a source is mended: retry with back-off.
//  4. Do not retry an error of Plan. It names ClusterRoles that have to be mended; their events bring the
//     plan back. The actions of a result that comes with an error are right: make them.
//     A webhook that gets an error refuses the write.
//  5. The account that makes the calls grants rules that it may not hold itself, so it needs the verb
//     escalate on clusterroles, besides patch, get, list and watch.
//  6. Do not run this beside the clusterrole-aggregation-controller of kube-controller-manager: switch
//     that one off (--controllers=*,-clusterrole-aggregation-controller). Where it cannot be switched off, as on
//     managed clusters, set Options.MatchUpstream: then both write the same. With the default decisions
//     both come to the same rules, except in a cycle of ClusterRoles that aggregate each other: there
//     upstream can put back a rule that this package has just taken out of one member, from the
//     next one (D-11). What upstream passes on from a ClusterRole whose aggregation fails (D-35) stays.
//
// # Bad input
//
// Problems are returned as [purekube.ObjectError], joined; the rest is planned. A nil ClusterRole and
// one without a name are left out and reported. If a selector does not convert to a label selector, or matches a
// name that the snapshot holds twice, then the rules of that ClusterRole cannot be known: it
// is not written and goes on granting the rules that are stored in it. ClusterRoles that aggregate it in turn
// keep those of them that they have, and get none that they do not have. Their outcomes name the problem too. An
// aggregationRule without selectors collects nothing; an empty selector matches every ClusterRole.
// Rules that were written by hand into a ClusterRole with an aggregationRule are replaced, as
// upstream does.
//
// # Upstream
//
// The source is pkg/controller/clusterroleaggregation of Kubernetes v1.36.3; v1.37.2 decides alike. By
// default the package differs from it as follows; with Options.MatchUpstream it does not.
//
//   - D-11: upstream collects the rules that are stored in a source. Nested aggregation therefore needs a
//     round of writes for each level, and a rule that has once gone round a cycle stays for ever. Here the
//     rules are computed from the ClusterRoles without an aggregationRule, through all levels at
//     once: one write for each ClusterRole, with the rules that upstream comes to in the end. In a
//     cycle every member has the rules that enter the cycle anywhere, in an order in
//     which upstream, too, finds nothing to change.
//   - D-20: if no rules are left, upstream's apply does not mention rules. That removes only the rules that the
//     controller set and no other field manager owns. Here the apply says that there are none.
//   - D-26: an apply carries the UID, so that it neither creates a ClusterRole that was deleted nor writes
//     to another one of the same name.
//   - D-35: upstream passes on what is stored in a ClusterRole whose aggregation fails. Here a
//     ClusterRole that aggregates it keeps those of the rules that it has already, and gets no others: it is not known
//     whether the source would come to them.
//
// # Cost
//
// With n ClusterRoles, an event costs [Index.With] and [Index.Without] O(log n) for each label of the
// ClusterRole, plus the selectors whose labels it has, plus the ClusterRoles that it affects through all levels.
// How many selectors use the same label keys does not matter, whatever the values. A selector that needs no label, such as an empty one or one with DoesNotExist alone, is tried at each
// event.
//
// Plan, Rules, Explain, PreviewRole and Grants for one ClusterRole are linear in what it rests on: its sources
// through all levels, their rules, and for each different selector among them, the ClusterRoles that it
// matches. For a selector that was added since the Index was arranged, which [Index.With] does anew at times, it is
// the ClusterRoles that have the rarest of its labels. Cycles make no difference. PlanAll and Preview are linear in the same for all ClusterRoles, and in
// the rules that each selector collects. ExplainAll is linear in the sources of each ClusterRole.
//
// These can be quadratic: n selectors, each different, that match n ClusterRoles; n aggregated ClusterRoles that
// come to n rules each, which is n² rules to write; the sources of a chain of n, which ExplainAll lists for
// each member; n selectors that each demand other keys, or use In with several values, none of whose labels is
// rare, and ClusterRoles that have all of these keys. Only who may write ClusterRoles can cause that.
package rbacaggregate
