// Package clientgo runs the packages of purekube as controllers on client-go.
//
// [New] runs any of the five, with a Lease, from a configuration:
//
//	clientgo.New(config, clientgo.SetOptions{
//		Controllers: []string{"servicecidr", "disruption"},
//		Lease:       &clientgo.Lease{Namespace: "my-namespace", Name: "my-controllers"},
//	}).Run(ctx)
//
// [NewServiceCIDR], [NewResourceClaim], [NewTTL], [NewRBACAggregate] and [NewDisruption] make one controller each from
// informers and clients that you have. [NewController] makes a controller of any [purekube.Index]. [Executor] and
// [Lookup] are the parts that every controller needs: they send a [purekube.Request] and answer a [purekube.Need].
// [Hooks] add behaviour of your own: leave keys out, change or veto an action, and observe. [PolicyRules] are the
// rights to give. [NewWebhook] answers admission reviews.
//
// # What the controllers do
//
//   - They plan nothing until every handler has seen the initial lists.
//   - After a write, an object is not planned again until the informer shows the write, or for five seconds.
//   - A key that fails is planned again: after 5 ms, then twice as long each time, up to 1,000 s, or when the API
//     server says. A ServiceCIDR is left alone for ten minutes after 15 retries. An error of a plan is retried only for
//     ResourceClaims. For other packages, it names an object that somebody must fix, whose event leads to the next
//     plan.
//   - Namespaces take turns, so that a namespace with thousands of keys does not delay the others.
//   - Workers do not wait for lookups. Each lookup has 10 seconds and four attempts; keys that ask for the same object
//     at the same time share the answer. Here, too, namespaces take turns. A turn has one lookup for budgets, and up to
//     256 for claims, so that all lookups of one claim are finished together.
//   - The pods of a budget's plan are never newer than its scales: the plan is made with the Index that asked. If
//     lookups are open after 15 seconds, the budget gets the status that allows nothing. Then all lookups are made
//     again for the changed budget, and the counts follow when all of them are answered.
//   - A claim's plan uses no answer that is older than a minute. Older answers are looked up again, with growing
//     pauses, and each time is reported as an error.
//   - A create that a proxy answers with 502, 503 or 504 counts as a create without an answer: the API server may have
//     done it.
//   - All writes of one plan together have 30 seconds, which begin after the lookups.
//   - If the cache of an informer goes back to an older resourceVersion, etcd was restored from a backup. A controller
//     checks this before each plan and every ten seconds, and ends with [ErrRestored].
//
// # The duties of the packages
//
// Each package lists the duties of its caller in its comment. The controllers of this package do all of them except
// these, which are yours:
//
//   - All packages: switch off the same controller of kube-controller-manager. Only with MatchUpstream do both write
//     the same, and for ResourceClaims and TTLs not even that is enough.
//   - All packages: run one replica at a time. [Lease] does that. Without it, two replicas make two claims for each
//     pod, keep overwriting each other's TTLs, and may allow an eviction too many or leave an address without a range.
//   - servicecidr 2: the time until every API server's allocator has heard of a deletion must be less than ten
//     seconds. How far caches and handlers are behind does not matter: the API server is asked before a finalizer goes.
//   - disruption 6: the clocks of this process and of the API servers agree to within seconds.
//   - rbacaggregate 5: give the account the verb escalate on clusterroles. PolicyRules has it.
//   - resourceclaim 1: with PodGroupOf, say in which version the API server has PodGroups: see [PodGroups].
//   - With your own informers: the first list of a new process must not be older than what the previous process wrote,
//     or pods may get a second claim. [New] asks for current lists; client-go does so only if the API server streams
//     lists.
//   - All packages: when Run returns an error, end the process, and start it again. After a restore of etcd, restart it
//     in any case: a cache goes back only if its informer lists again, and an [Informer] without
//     LastSyncResourceVersion does not show that.
//
// For the duties that need memory, the controllers keep: servicecidr 3 (DeletionSeen, by this process's clock),
// resourceclaim 5 (AssumedClaims, and DeletedPods of BR-30-09), resourceclaim 6 (a create without an answer is not made
// again for five seconds), ttl 2 (the step is recovered from the annotations before the first plan).
//
// # Logs
//
// Everything is logged with the logger of the context that Run gets (klog.FromContext). Each text is cut off at 2,000
// bytes.
package clientgo
