package admission

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The codes of refusals.
const (
	badRequest      = 400
	forbidden       = 403
	conflict        = 409
	tooManyRequests = 429
	internalError   = 500
	unavailable     = 503
)

const (
	// maxMessage is the length of a message, and maxRule the length of a rule in a message.
	maxMessage = 2000
	maxRule    = maxMessage / 2
	// maxWarning is the length of a warning: an API server may cut longer ones.
	maxWarning = 120
	// retryAfter is in how many seconds a client should try again what cannot be decided now.
	retryAfter = 5
)

// reasonOf is what clients tell refusals apart by: kubectl drain tries an eviction again after TooManyRequests.
func reasonOf(code int32) metav1.StatusReason {
	switch code {
	case badRequest:
		return metav1.StatusReasonBadRequest
	case forbidden:
		return metav1.StatusReasonForbidden
	case conflict:
		return metav1.StatusReasonConflict
	case tooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case internalError:
		return metav1.StatusReasonInternalError
	case unavailable:
		return metav1.StatusReasonServiceUnavailable
	}
	return metav1.StatusReasonUnknown
}

func allowed(r *admissionv1.AdmissionRequest, warnings ...string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true, Warnings: warnings}
}

func refused(r *admissionv1.AdmissionRequest, code int32, format string, args ...any) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reasonOf(code),
		Message: cut(fmt.Sprintf(format, args...), maxMessage),
	}}
	if r != nil {
		response.UID = r.UID
	}
	return response
}

// NotNow refuses a request that cannot be decided at the moment, whatever it is for: 503, and 429 for an eviction, so
// that kubectl drain tries again. why is the message, for example "the webhook could not decide in time".
func NotNow(r *admissionv1.AdmissionRequest, why string) *admissionv1.AdmissionResponse {
	code := int32(unavailable)
	if r != nil && r.SubResource == "eviction" {
		code = tooManyRequests
	}
	response := refused(r, code, "%s; try again", why)
	response.Result.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	return response
}

// Failed refuses a request that cannot be decided, now or later: 500. why is the message.
func Failed(r *admissionv1.AdmissionRequest, why string) *admissionv1.AdmissionResponse {
	return refused(r, internalError, "%s", why)
}

// notSynced is the answer without an Index.
func notSynced(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return NotNow(r, "the webhook is still reading the objects of the cluster")
}

// warning puts a name between two texts; it cuts the name if the warning is too long.
func warning(before, name, after string) string {
	return before + cut(name, maxWarning-len(before)-len(after)) + after
}

// cut returns no more of a text than n bytes, in valid UTF-8. What is cut ends with an ellipsis.
func cut(text string, n int) string {
	const mark = "…"
	if text = strings.ToValidUTF8(text, "\uFFFD"); len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, n-len(mark))], "") + mark
}
