package model

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// LoopWorld is a scenario whose controller is the loop of internal/reconcile, as package clientgo runs it, around the
// Index of a package. Its Controller, which plans from what the API server has, is asked whether a request is right,
// and whether there is anything left to do when everything is idle.
type LoopWorld[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	Scenario
	// Empty is the Index of a cluster without objects.
	Empty func() X
	// Text is what an Index goes by beyond the objects in it. Nil: nothing.
	Text func(X) string
	// Unwatched are kinds that the controller does not watch.
	Unwatched []string
	// As is a Snapshot of one object, and what the controller remembers about that object. The facts about the Index have
	// both.
	As func(o Object, now time.Time, m memo) (s S, remembered map[string]string)
	// Memory is what the controller remembers outside of its Index when it starts. Nil: nothing.
	Memory func() memo
	// At, Answers, Prepare and Written are in reconcile.Options. At also returns the facts about its Snapshot.
	At      func(now time.Time, index X, m memo) (S, map[string]string)
	Answers func(map[purekube.Need]purekube.Answer) S
	Prepare func(index X) X
	Written func(now time.Time, o runtime.Object, m memo)
	// Gone is told of a deleted object before the Index is. It may change the Index: then fact is about that.
	Gone func(o Object, m memo) (change func(X) (X, []purekube.Key), fact string)
	// Lists are the kinds that are listed to confirm a plan, in this order, and Confirm is what to plan with again then.
	Lists   []string
	Confirm func(read *View, m memo) S
	// Answer makes a lookup.
	Answer func(live *View, n purekube.Need) purekube.Answer
	// DecidesWithout, RetryProblems and Retries go into reconcile.Options.
	DecidesWithout, RetryProblems bool
	Retries                       int
	// Filter, Veto and Change are hooks of package clientgo: which keys are planned, which requests are not sent, and
	// what they are changed to.
	Filter func(purekube.Key) bool
	Veto   func(purekube.Request) bool
	Change func(*purekube.Request)
	// KeyOf is the key of an object.
	KeyOf func(Object) purekube.Key
	// Workers plan at the same time.
	Workers int
	// MaxFaults is how often something fails.
	MaxFaults int
	// Replicas: another replica may get the Lease while a write is on its way. Overlap is for how long after that the
	// write may be on its way, in seconds. At 0 it arrives before the other replica lists, or never.
	Replicas bool
	Overlap  int
	// Standby is what another replica remembers that began to do so before it had the Lease, which is a defect.
	Standby func(leader memo) memo
	// Hangs: lookups may get no answer any more, until somebody repairs that.
	Hangs bool
	// Hung says what is wrong with the objects when everything is idle and lookups have no answer.
	Hung func(server *View) string
	// MaxAge is how old an event gets before the handlers see it, in seconds, where that is more than maxAgeOfCache.
	MaxAge int
	// SlowAnswers: anything may come between a write and its answer.
	SlowAnswers bool
	// Restores: etcd may be restored from a backup, which has the Objects.
	Restores bool
	// Right reports whether an action, the first one of its plan, may be made where a plan from what the API server has
	// at that moment asks for these. Nil: each may.
	Right func(a A, fresh []purekube.Action) bool
	// Planned says what is wrong with an action whose plan knew these facts. Nil: nothing is.
	Planned func(facts map[string]string, a A) string
	Broken  broken
}

// memo is what a controller remembers outside of its Index.
type memo interface {
	clone() memo
	// text is what it goes by. Each resourceVersion follows an @.
	text() string
	// prune drops what cannot count any more: replies are the UIDs of objects that the controller may yet hear of.
	prune(replies map[types.UID]bool)
}

// broken are defects of a controller around the loop, to be found.
type broken struct {
	StartsWithTheCache, SharesTheContext, LosesRetries, IgnoresFences, DropsWhileProcessing, ForgetsTicks,
	ForgetsRecheck bool

	ForgetsWritten, ForgetsDeleted, IgnoresVetoes, VetoEndsKey, PlansFiltered, HidesFiltered, SendsWithoutLease,
	ReusesAnswers, PlansWithTheOldIndex,
	MissesRestore, LooksBeforeTurnsOnly, ConfirmsNothing, AnswersWithTheLast, WatchesBeforeLease, RemembersBeforeLease bool
}

// maxAgeOfCache is how old an event gets before the handlers see it, in seconds, unless LoopWorld.MaxAge says more.
const maxAgeOfCache = 5
