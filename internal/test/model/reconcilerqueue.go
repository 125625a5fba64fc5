package model

import (
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

func insert[T any](all []T, one T, compare func(a, b T) int) []T {
	i, there := slices.BinarySearchFunc(all, one, compare)
	if there {
		return all
	}
	return slices.Insert(all, i, one)
}

func remove[T any](all []T, one T, compare func(a, b T) int) []T {
	if i, there := slices.BinarySearchFunc(all, one, compare); there {
		return slices.Delete(all, i, i+1)
	}
	return all
}

func compareNeeds(a, b purekube.Need) int { return strings.Compare(a.String(), b.String()) }

// busy reports whether the key has a turn.
func (st *reconcilerState[X, S, A]) busy(key purekube.Key) bool {
	return slices.Contains(st.planning, key) || slices.ContainsFunc(st.confirming, func(c confirming) bool {
		return c.key == key
	}) ||
		slices.ContainsFunc(st.sending, func(s sending) bool { return s.key == key })
}

// enqueue puts a key into the work queue. One that is in its turn gets another one afterwards.
func (st *reconcilerState[X, S, A]) enqueue(key purekube.Key) {
	if st.busy(key) {
		st.again = insert(st.again, key, purekube.Key.Compare)
	} else {
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	}
}

// queueAgain does what the loop says after a turn. The pause before a retry is shorter than a second: anything may come
// before a key that is in the queue.
func (st *reconcilerState[X, S, A]) queueAgain(key purekube.Key, next reconcile.Next, b broken) {
	if slices.Contains(st.again, key) {
		st.again = remove(st.again, key, purekube.Key.Compare)
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	}
	switch {
	case !next.Requeue || next.Err != nil && b.LosesRetries || next.Err == nil && next.After > reconcile.FenceTimeout &&
		b.ForgetsRecheck:
	case next.After < time.Second:
		st.queue = insert(st.queue, key, purekube.Key.Compare)
	default:
		st.later = sooner(st.later, alarm{key, st.now + seconds(next.After)})
	}
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// sooner adds an alarm, unless there is one for the key that is not later.
func sooner(alarms []alarm, a alarm) []alarm {
	if i := slices.IndexFunc(alarms, func(b alarm) bool { return b.key == a.key }); i >= 0 {
		if alarms[i].at <= a.at {
			return alarms
		}
		alarms = slices.Delete(alarms, i, i+1)
	}
	return addAlarm(alarms, a)
}

func addAlarm(alarms []alarm, a alarm) []alarm {
	return insert(alarms, a, func(a, b alarm) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.key.Compare(b.key)
	})
}
