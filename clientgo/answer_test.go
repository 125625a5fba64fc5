package clientgo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A webhook chooses the reason and the code of its refusal. A label of a metric must not have a value for each.
func TestAnswer(t *testing.T) {
	refused := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason}}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("old"))
	for _, tc := range []struct {
		name string
		of   ActionResult
		want string
	}{
		{"sent", ActionResult{}, "OK"},
		{"vetoed", ActionResult{Vetoed: true, Err: conflict}, "Vetoed"},
		{"a reason of the API", ActionResult{Err: conflict}, "Conflict"},
		{"wrapped", ActionResult{Err: fmt.Errorf("write: %w", conflict)}, "Conflict"},
		{"a text of a webhook", ActionResult{Err: refused(403, "pod shop/web-7 is not signed")}, "403"},
		{"no reason", ActionResult{Err: refused(500, "")}, "500"},
		{"a code of a webhook", ActionResult{Err: refused(1234567, "")}, "Unknown"},
		{"no answer", ActionResult{Err: errors.New("connection refused")}, "NoAnswer"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, tc.of.Answer()) })
	}
}
