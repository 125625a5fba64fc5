package clientgo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/internal/test/consumers/late"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// The webhook refuses as long as one handler has not seen the initial list, although the caches are full; then it
// decides, and follows what is deleted.
func TestWebhook(t *testing.T) {
	objects := []runtime.Object{
		purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.ServiceCIDR("free", "10.97.0.0/24"), purekubetest.Address("10.96.0.7", "shop/web"),
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	release := make(chan struct{})
	handler, synced, err := NewWebhook(late.IPAddresses(factory, func() { <-release }), admission.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(name, cidr string) string {
		t.Helper()
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(reviews.DeletesCIDR(name, cidr).Body(t, "v1")))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder.Body.String()
	}
	expect := func(text, part string) {
		t.Helper()
		if !strings.Contains(text, part) {
			t.Errorf("%s\nhas no %s", text, part)
		}
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if synced() {
		t.Error("the handler of IPAddresses has seen nothing")
	}
	expect(answer("free", "10.97.0.0/24"), `"code":503`)
	close(release)
	for end := time.Now().Add(20 * time.Second); !synced(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not synced")
		}
	}
	expect(answer("free", "10.97.0.0/24"), `"allowed":true`)
	expect(answer("used", "10.96.0.0/24"), "10.96.0.7 (Service shop/web)")
	addresses := networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
	if err := client.Tracker().Delete(addresses, "", "10.96.0.7"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(answer("used", "10.96.0.0/24"), `"allowed":true`); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the address that is gone is still in the way")
		}
	}
}
