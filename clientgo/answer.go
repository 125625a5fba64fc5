package clientgo

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reasons are the reasons of the API. A webhook can refuse a request with a text of its own in the place of one.
var reasons = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout,
	metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed,
	metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
	metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired,
	metav1.StatusReasonServiceUnavailable,
}

// Answer is the API server's answer as the label of a metric. It has few values: "OK", "Vetoed", a reason of the API
// such as "Conflict", the HTTP code of a refusal without such a reason, for example "403", or "NoAnswer".
func (r ActionResult) Answer() string {
	var status apierrors.APIStatus
	switch {
	case r.Vetoed:
		return "Vetoed"
	case r.Err == nil:
		return "OK"
	case !errors.As(r.Err, &status):
		return "NoAnswer"
	case slices.Contains(reasons, status.Status().Reason):
		return string(status.Status().Reason)
	case http.StatusText(int(status.Status().Code)) == "": // a webhook can make it up, too
		return "Unknown"
	}
	return strconv.Itoa(int(status.Status().Code))
}
