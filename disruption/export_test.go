package disruption

import "testing"

// ForEachSnapshot runs the property on random snapshots, in which something is wrong if they are bad.
func ForEachSnapshot(t *testing.T, snapshots int, bad bool, property func(s Snapshot, o Options) error) {
	t.Helper()
	forEachSnapshot(t, snapshots, bad, func(_ generator, s Snapshot, o Options) error { return property(deepCopy(s), o) })
}

// DeepCopy copies the objects.
func DeepCopy(s Snapshot) Snapshot { return deepCopy(s) }
