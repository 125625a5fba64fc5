package drain

import (
	"encoding/json"

	"github.com/purekube/purekube/internal/snapshot"
)

// MarshalJSON writes the fields with their keys, and names of pods with the keys namespace and name.
func (d Drain) MarshalJSON() ([]byte, error) {
	rounds := make([][]snapshot.Name, len(d.Rounds))
	for i, round := range d.Rounds {
		if rounds[i] = snapshot.Names(round); rounds[i] == nil {
			rounds[i] = []snapshot.Name{} // nothing goes in this round, and it is a list all the same
		}
	}
	type fields Drain
	return json.Marshal(struct {
		fields
		Rounds [][]snapshot.Name `json:"rounds,omitempty"`
	}{fields(d), rounds})
}

// MarshalJSON writes the fields with their keys, and the name of the pod with the keys namespace and name.
func (p SkippedPod) MarshalJSON() ([]byte, error) {
	type fields SkippedPod
	return json.Marshal(struct {
		Pod snapshot.Name `json:"pod"`
		fields
	}{snapshot.Name(p.Pod), fields(p)})
}

// MarshalJSON writes the fields with their keys, and the name of the pod with the keys namespace and name.
func (p RefusedPod) MarshalJSON() ([]byte, error) {
	type fields RefusedPod
	return json.Marshal(struct {
		Pod snapshot.Name `json:"pod"`
		fields
	}{snapshot.Name(p.Pod), fields(p)})
}

// MarshalJSON writes the fields with their keys, and the name of the pod with the keys namespace and name.
func (p PendingPod) MarshalJSON() ([]byte, error) {
	type fields PendingPod
	return json.Marshal(struct {
		Pod snapshot.Name `json:"pod"`
		fields
	}{snapshot.Name(p.Pod), fields(p)})
}

// MarshalJSON writes the fields with their keys, and names of pods with the keys namespace and name.
func (b Blocker) MarshalJSON() ([]byte, error) {
	type fields Blocker
	return json.Marshal(struct {
		fields
		Pods []snapshot.Name `json:"pods,omitempty"`
	}{fields(b), snapshot.Names(b.Pods)})
}

// MarshalJSON writes the fields with their keys, and names of pods with the keys namespace and name.
func (f Fix) MarshalJSON() ([]byte, error) {
	type fields Fix
	return json.Marshal(struct {
		fields
		Pods []snapshot.Name `json:"pods,omitempty"`
	}{fields(f), snapshot.Names(f.Pods)})
}
