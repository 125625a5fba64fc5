package snapshot

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// unsafe is a [purekube.ErrPathSegment] with the text of client-go, which refuses the same names.
type unsafe string

func (e unsafe) Error() string        { return string(e) }
func (e unsafe) Is(target error) bool { return target == purekube.ErrPathSegment }

// CheckNeed returns nil if the lookup can be made, and otherwise an error about the object to look up. Users choose
// the names in owner references and consumers, and the lookup puts these names into the path of a request.
func CheckNeed(n purekube.Need) *purekube.ObjectError {
	problem := func(field, text string) *purekube.ObjectError {
		return &purekube.ObjectError{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, Field: field, Err: unsafe(text)}
	}
	if n.Name == "" {
		return problem("metadata.name", "resource name may not be empty")
	}
	if wrong := path.IsValidPathSegmentName(n.Name); len(wrong) > 0 {
		return problem("metadata.name", fmt.Sprintf("invalid resource name %q: %v", n.Name, wrong))
	}
	if wrong := path.IsValidPathSegmentName(n.Namespace); len(wrong) > 0 {
		return problem("metadata.namespace", fmt.Sprintf("invalid namespace %q: %v", n.Namespace, wrong))
	}
	if wrong := path.IsValidPathSegmentName(n.Kind); len(wrong) > 0 {
		return problem("kind", fmt.Sprintf("invalid kind %q: %v", n.Kind, wrong))
	}
	version, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return problem("apiVersion", err.Error())
	}
	for _, part := range []string{version.Group, version.Version} {
		if wrong := path.IsValidPathSegmentName(part); len(wrong) > 0 {
			return problem("apiVersion", fmt.Sprintf("invalid apiVersion %q: %v", n.APIVersion, wrong))
		}
	}
	return nil
}
