// Package admission answers the reviews of admission webhooks: an Index of one of the decision packages and an
// AdmissionRequest in, an AdmissionResponse out.
//
//	response := admission.ClusterRoleWrite(index, review.Request, admission.ClusterRoleOptions{
//		Allowed: map[string][]rbacv1.PolicyRule{"view": readPods},
//	})
//
// There are four decisions: [ServiceCIDRDelete], [ClusterRoleWrite], [Eviction] and [BudgetWrite]. [Decide] picks the
// one that a request is for. Each is a pure function: it makes no call, reads no clock and remembers nothing.
//
// # What every decision answers
//
// What cannot be decided is refused, with a code and a message for the writer, whatever the failurePolicy of the
// webhook. For all four:
//
//   - A nil Index means that its objects are not known: 503, and 429 for an eviction, so that kubectl drain tries
//     again. Both have details.retryAfterSeconds.
//   - A nil request, one without a UID, or one for another resource, version, subresource or operation: 400. If your
//     webhook gets other requests as well, call Decide.
//   - An object that is missing, does not decode, is of another kind or has another name than the request: 400. Fields
//     that the type does not have are ignored.
//   - A dry run: the same answer as for the write itself.
//   - The objects in the request count. The Index may have older versions of them.
//
// A refusal carries a metav1.Status with code, reason and message; a message has at most 2,000 bytes. A warning has at
// most 120 bytes, as Kubernetes recommends.
//
// # The caller's duties
//
//  1. For each review for which [ReadsServiceCIDRs] is true, list ServiceCIDRs and IPAddresses; if [ReadsClusterRoles]
//     is true, list ClusterRoles. List after the review has arrived, without a resourceVersion, all pages. If a list
//     fails, refuse with [NotNow]. Nothing checks these writes again, and you cannot know how old a cache is.
//  2. Build the disruption Index from caches of all objects that its package lists among its duties, after every event
//     handler has seen the initial list. Pass nil until then. The API server checks the budget again after the review.
//  3. Set Snapshot.Now of the disruption Index: Index.With(disruption.Snapshot{Now: now}).
//  4. Two writes that are fine alone may not be fine together. An allowed deletion or eviction has to count before a
//     list or the watch shows it: package admission/memory does that for evictions, and clientgo.NewWebhook for both.
//  5. Answer in time, and limit the size of a review: package admission/webhook does that.
//  6. In the ValidatingWebhookConfiguration, set failurePolicy Fail for ClusterRoles and ServiceCIDRs. docs/webhook.md
//     says why.
//
// # Cost
//
// A decision costs O(size of the request), plus what it depends on: for an eviction the pods of its budgets, for a
// budget its pods and a look at each workload of the cluster, for a ClusterRole the ClusterRoles that a protected
// ClusterRole depends on and their rules, for a ServiceCIDR at most ten addresses.
package admission
