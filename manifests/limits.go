package manifests

import (
	"bytes"
	"fmt"
	"io"

	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"
)

// Bounds of what input may cost. An input beyond one of them is an error, and is not read any further.
const (
	// DefaultMaxUnzipped is how many bytes a gzip file may hold: 1 GiB.
	DefaultMaxUnzipped = 1 << 30
	// maxObject is far more than an API server stores in one object: etcd takes 1.5 MiB, which indented JSON makes about
	// six times as large.
	maxObject = 16 << 20
	// objectWeight is what an object counts at least: small ones take memory too.
	objectWeight = 2 << 10
	// maxErrors is how many errors of a file are reported.
	maxErrors = 1000
)

// bounded reads what may still be read.
type bounded struct {
	r io.Reader
	// object is what is left for the object that is read now.
	object int64
	// all is what is left for the input, of max. For input that is not zipped, only what small objects count beyond their
	// size is subtracted: whoever made the input had to send all of its bytes.
	all, max int64
	zipped   bool
}

// newBounded bounds the objects, and the input as a whole.
func newBounded(r io.Reader, max int64, zipped bool) *bounded {
	return &bounded{r: r, object: maxObject, all: max, max: max, zipped: zipped}
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.object <= 0:
		return 0, fmt.Errorf("an object of more than %d MiB", maxObject>>20)
	case b.all <= 0 && b.zipped:
		return 0, fmt.Errorf("more than %s when unzipped, objects below %d KiB counted as that much",
			size(b.max), objectWeight>>10)
	case b.all <= 0:
		return 0, fmt.Errorf("more small objects than fit into %s when each counts %d KiB", size(b.max), objectWeight>>10)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.object)])
	b.object -= int64(n)
	if b.zipped {
		b.all -= int64(n)
	}
	return n, err
}

// size is a number of bytes for people.
func size(bytes int64) string {
	if bytes%(1<<20) != 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// next begins another object, after one of this length.
func (b *bounded) next(length int) {
	b.all -= int64(max(0, objectWeight-length))
	b.object = maxObject
}

// expands is an error for a YAML document that its aliases make larger than an object may be.
func expands(text []byte) error {
	if bytes.IndexByte(text, '*') < 0 || bytes.IndexByte(text, '&') < 0 {
		return nil
	}
	var document yamlv3.Node //nolint:staticcheck // the package is deprecated for one that would be a further requirement
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return err
	}
	sizes := map[*yamlv3.Node]int{} //nolint:staticcheck // as above
	if expandedSize(&document, sizes) > maxObject {
		return fmt.Errorf("with its aliases replaced, it is larger than %d MiB", maxObject>>20)
	}
	return nil
}

// expandedSize is about the length of the node with its aliases replaced, and at most the first number beyond
// maxObject.
//
//nolint:staticcheck // as above
func expandedSize(n *yamlv3.Node, sizes map[*yamlv3.Node]int) int {
	if size, known := sizes[n]; known {
		return size
	}
	sizes[n] = maxObject + 1 // of an anchor that contains itself
	size := len(n.Value) + 1
	if n.Kind == yamlv3.AliasNode {
		size = expandedSize(n.Alias, sizes)
	}
	for _, part := range n.Content {
		size = min(size+expandedSize(part, sizes), maxObject+1)
	}
	sizes[n] = size
	return size
}
