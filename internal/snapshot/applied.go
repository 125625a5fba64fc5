package snapshot

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// Applied is what the body of a server-side apply begins with. Its fields stand in the order in which client-go's apply
// configurations have them. The body is a struct that embeds it.
type Applied struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   AppliedMetadata `json:"metadata"`
}

// AppliedMetadata names the object, by its UID as well where the apply is for this very object.
type AppliedMetadata struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

// JSON is the body of a patch. It is for maps, structs, texts, numbers and times, which always marshal.
func JSON(v any) []byte {
	body, _ := json.Marshal(v)
	return body
}
