package resourceclaim

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FuzzGenerateName checks that valid names make a valid name (BR-30-03, D-9).
func FuzzGenerateName(f *testing.F) {
	f.Add("p", "gpu")
	f.Add("web.example.com-0123456789012345678901234567890123456789012345", "gpu-0")
	f.Fuzz(func(t *testing.T, pod, entry string) {
		got := GenerateName(pod, entry)
		if len(validation.IsDNS1123Subdomain(pod))+len(validation.IsDNS1123Label(entry)) > 0 {
			return
		}
		if name := got + "x4z9k"; len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Fatalf("GenerateName(%q, %q) = %q", pod, entry, got)
		}
	})
}
