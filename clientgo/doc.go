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
//   - They plan nothing before every handler has seen what was listed at the start.
//   - A plan is not made again before the informer shows what the last plan of that object wrote, or five seconds
//     later.
//   - A key that fails is planned again: after 5 ms, then twice as long each time, up to 1,000 s, or when the API
//     server says. A ServiceCIDR rests for ten minutes after 15 retries. An error of a plan is retried for
//     ResourceClaims alone; elsewhere it names an object to mend, whose event brings the plan back.
//   - Keys are planned in turns by namespace, so that a namespace with thousands does not delay the others.
//   - Lookups are made apart from the workers. Each has 10 seconds and four attempts; keys that ask for the same object
//     at the same time share the answer. Namespaces take turns, too: of one lookup for budgets, and of up to 256 for
//     claims, so that all lookups of one claim are finished together.
//   - The pods of a budget's plan are never newer than its scales: the plan is made with the Index that asked. After 15
//     seconds a budget gets the status that allows nothing, whatever is answered by then. All is asked again for the
//     changed budget, and the counts follow when all lookups are answered.
//   - A claim's plan uses no answer that is older than a minute. Older ones are looked up again, and that is reported
//     as an error with growing pauses.
//   - A create that a proxy answers with 502, 503 or 504 counts as a create without an answer: the API server may have
//     done it.
//   - All writes of one plan have 30 seconds together, which do not begin before the lookups have ended.
//   - Where the cache of an informer goes back to an older resourceVersion, etcd was restored from a backup. A
//     controller looks before each plan and every ten seconds, and ends with [ErrRestored].
//
// # The duties of the packages
//
// Each package lists the duties of its caller in its comment. The controllers of this package do them, except these,
// which are yours:
//
//   - All packages: switch off the same controller of kube-controller-manager. Only MatchUpstream writes the same
//     as that one, and for ResourceClaims and TTLs not even that is enough.
//   - All packages: run one replica at a time. [Lease] does that. Without it, two replicas make two claims for each
//     pod, keep overwriting each other's TTLs, and may allow an eviction too many or leave an address without a range.
//   - servicecidr 2: the time until every API server's allocator has heard of a deletion must be less than ten
//     seconds. How far caches and handlers are behind does not matter: the API server is asked before a finalizer goes.
//   - disruption 6: the clocks of this process and of the API servers agree to within seconds.
//   - rbacaggregate 5: give the account the verb escalate on clusterroles. PolicyRules has it.
//   - resourceclaim 6: with PodGroupOf, say in which version the API server has PodGroups: [PodGroups].
//   - With informers of yours: the first list of a new process must not be older than what the process before it
//     wrote, or pods may get a second claim. [New] asks for lists of now; client-go does where the API server
//     streams lists.
//   - All packages: when Run returns an error, end the process, and start it again. After a restore of etcd, restart it
//     in any case: a cache goes back only where its informer lists again, and an [Informer] without
//     LastSyncResourceVersion does not tell.
//
// What the controllers do for the duties that need memory: servicecidr 3 (DeletionSeen, by this process's clock),
// resourceclaim 4 and 7 (AssumedClaims and DeletedPods), resourceclaim 5 (a create without an answer
// is not made again for five seconds), ttl 2 (the step is recovered from the annotations before the first plan).
//
// # Logs
//
// Everything is logged with the logger of the context that Run gets (klog.FromContext), and cut off at 2,000 bytes a
// text.
package clientgo
