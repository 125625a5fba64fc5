package snapshot

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// Applied has the first fields of the body of a server-side apply, in the order of client-go's apply configurations.
// The body is a struct that embeds it.
type Applied struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   AppliedMetadata `json:"metadata"`
}

// AppliedMetadata names the object. It has a UID if the apply must not write another object of the same name.
type AppliedMetadata struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

// JSON returns the body of a patch. Use it only for maps, structs, texts, numbers and times, which always marshal.
func JSON(v any) []byte {
	body, _ := json.Marshal(v)
	return body
}
