package purekubetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

var decoder = func() runtime.Decoder {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
}()

// LoadManifests reads the YAML and JSON files that the pattern matches (path/filepath.Glob), documents and
// lists, and returns their objects as a cluster. An object without a namespace is in "default", as with kubectl. A pattern
// that no file matches, a file without an object, an object that does not decode, a key that is given twice, a field that
// does not exist, a missing name, two objects of one name and a kind that no package plans with fail the test.
func LoadManifests(t testing.TB, pattern string) *Cluster {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no file matches %s", pattern)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := loader{cluster: NewCluster(t), seen: map[string]string{}}
	slices.Sort(names)
	for _, name := range names {
		before := len(l.seen)
		if err := l.file(t, name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(l.seen) == before {
			t.Fatalf("%s: no object in it", name)
		}
	}
	return l.cluster
}

// loader reads files into a cluster.
type loader struct {
	cluster *Cluster
	// seen says where an object was read.
	seen map[string]string
}

func (l loader) file(t testing.TB, name string) error {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	next := documents(file)
	for n := 1; ; n++ {
		raw, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		where := fmt.Sprintf("document %d", n)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		object, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		list, isList := object.(*corev1.List)
		if !isList {
			list = &corev1.List{Items: []runtime.RawExtension{{Raw: raw}}}
		}
		if list.Continue != "" {
			return fmt.Errorf("%s: metadata.continue: the list is not complete", where)
		}
		for i, item := range list.Items {
			if isList {
				where = fmt.Sprintf("document %d, item %d", n, i+1)
			}
			object, kind, err := decoder.Decode(item.Raw, nil, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			l.cluster.add(t, object)
			if err := l.name(object.(metav1.Object), kind.Kind, name+": "+where); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
	}
}

// name checks the name of an object, and gives it the namespace that kubectl would.
func (l loader) name(o metav1.Object, kind, where string) error {
	if o.GetName() == "" {
		return fmt.Errorf("%s: metadata.name: required", kind)
	}
	switch o.(type) {
	case *corev1.Node, *rbacv1.ClusterRole, *networkingv1.ServiceCIDR, *networkingv1.IPAddress:
	default:
		if o.GetNamespace() == "" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
	}
	key := fmt.Sprintf("%s %s/%s", kind, o.GetNamespace(), o.GetName())
	if at, twice := l.seen[key]; twice {
		return fmt.Errorf("%s: also in %s", key, at)
	}
	l.seen[key] = where
	return nil
}

// documents returns the documents of a file as JSON, one after the other, and io.EOF after the last.
func documents(file io.Reader) (next func() ([]byte, error)) {
	buffered, _, isJSON := yamlstream.GuessJSONStream(file, 1<<16)
	if isJSON {
		values := json.NewDecoder(buffered)
		return func() ([]byte, error) {
			var raw json.RawMessage
			err := values.Decode(&raw)
			return raw, err
		}
	}
	parts := yamlstream.NewYAMLReader(bufio.NewReader(buffered))
	return func() ([]byte, error) {
		part, err := parts.Read()
		if err != nil {
			return nil, err
		}
		return yaml.YAMLToJSONStrict(part) // of a key that is given twice nobody can say which one counts
	}
}
