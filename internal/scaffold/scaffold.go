// Package scaffold keeps modules required until the packages that use them are there.
package scaffold

import (
	_ "github.com/stretchr/testify/require"
	_ "go4.org/netipx"
	_ "k8s.io/api/resource/v1"
	_ "k8s.io/apimachinery/pkg/runtime/serializer"
	_ "k8s.io/apimachinery/pkg/util/intstr"
	_ "k8s.io/apimachinery/pkg/util/strategicpatch"
	_ "k8s.io/utils/lru"
	_ "sigs.k8s.io/yaml"
)
