// Package scheduler has adapters for schedulers that copy filterPodsWithPDBViolation of kube-scheduler: koordinator and
// volcano. The Go module proxy serves neither module, so the tests ask kube-scheduler's own function, which koordinator
// copies word for word, and a copy of volcano's differences.
package scheduler

import corev1 "k8s.io/api/core/v1"

// TaskInfo has the field of volcano's api.TaskInfo that its plugin pdb reads.
type TaskInfo struct{ Pod *corev1.Pod }
