//go:build suites

// Package suites names what run.sh tests, so that go.mod holds it. Nothing builds it.
package suites

import (
	_ "k8s.io/kubernetes/pkg/controller/disruption"
	_ "k8s.io/kubernetes/pkg/controller/resourceclaim"
	_ "k8s.io/kubernetes/pkg/controller/servicecidrs"
	_ "k8s.io/kubernetes/pkg/controller/ttl"
	_ "k8s.io/kubernetes/test/integration/framework"
)
