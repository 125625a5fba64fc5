package disruption

import (
	"encoding/json"

	"github.com/purekube/purekube/internal/snapshot"
)

// MarshalJSON writes the fields with their keys, and names of budgets with the keys namespace and name.
func (e Eviction) MarshalJSON() ([]byte, error) {
	type fields Eviction
	return json.Marshal(struct {
		fields
		Budget   snapshot.Name   `json:"budget,omitzero"`
		Blocking []snapshot.Name `json:"blocking,omitempty"`
	}{fields(e), snapshot.Name(e.Budget), snapshot.Names(e.Blocking)})
}

// MarshalJSON writes names of budgets with the keys namespace and name.
func (e PodExplanation) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Budgets []snapshot.Name `json:"budgets,omitempty"`
	}{snapshot.Names(e.Budgets)})
}
