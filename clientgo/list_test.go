package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// allRequests are the requests of a cluster with three pages of IPAddresses.
var allRequests = []string{"list ipaddresses", "list ipaddresses", "list ipaddresses", "list servicecidrs"}

// listing is a cluster of two ServiceCIDRs and 1,001 IPAddresses, which are three pages.
type listing struct {
	handler  apiserver.Handler
	requests []string
	// before is called before each request, with its number.
	before func(n int) error
}

// list lists everything.
func (l *listing) list(ctx context.Context, t *testing.T) (servicecidr.Snapshot, error) {
	t.Helper()
	server := apiserver.New(purekubetest.ServiceCIDR("a", "10.96.0.0/20"), purekubetest.ServiceCIDR("b", "10.97.0.0/20"))
	for i := range 1001 {
		address := purekubetest.Address(fmt.Sprintf("10.96.%d.%d", i/250, 1+i%250), "shop/web")
		address.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-apiserver"}}
		server.Put(address)
	}
	l.handler.Server = server
	l.handler.Allow = func(r purekube.Request) error {
		l.requests = append(l.requests, r.Verb+" "+r.Resource.Resource)
		return l.before(len(l.requests))
	}
	way, stop := apiserver.Serve(&l.handler)
	defer stop()
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1}, &http.Client{Transport: ofNow{way, t}})
	require.NoError(t, err)
	return clientgo.ListServiceCIDRs(client)(ctx)
}

// ofNow fails a test whose lists may be of any age.
type ofNow struct {
	http.RoundTripper
	t *testing.T
}

func (o ofNow) RoundTrip(r *http.Request) (*http.Response, error) {
	assert.Empty(o.t, r.URL.Query().Get("resourceVersion"))
	assert.Equal(o.t, "500", r.URL.Query().Get("limit"))
	return o.RoundTripper.RoundTrip(r)
}

// All pages show the moment of the first one, and what no decision reads is left out.
func TestListInPages(t *testing.T) {
	l := &listing{}
	l.before = func(n int) error {
		if n == 2 {
			l.handler.Server.Remove(purekubetest.Address("10.96.4.1", "shop/web"))
			l.handler.Server.Put(purekubetest.Address("10.96.9.9", "shop/web"))
		}
		return nil
	}
	s, err := l.list(t.Context(), t)
	require.NoError(t, err)
	require.Equal(t, allRequests, l.requests)
	require.Len(t, s.ServiceCIDRs, 2)
	require.Len(t, s.IPAddresses, 1001)
	seen := map[string]bool{}
	for _, a := range s.IPAddresses {
		require.Empty(t, a.ManagedFields)
		seen[a.Name] = true
	}
	require.Len(t, seen, 1001)
	require.True(t, seen["10.96.4.1"], "it went after the first page")
	require.False(t, seen["10.96.9.9"], "it came after the first page")
}

// A list that was not read to its end is none, whatever ended it, and wherever.
func TestListThatEndsEarly(t *testing.T) {
	addresses := networkingv1.Resource("ipaddresses")
	for name, failure := range map[string]error{
		"400": apierrors.NewBadRequest("why"), "401": apierrors.NewUnauthorized("why"), "403": apierrors.NewForbidden(addresses, "", errors.New("why")),
		"404": apierrors.NewNotFound(addresses, ""), "409": apierrors.NewConflict(addresses, "", errors.New("why")), "410": apierrors.NewResourceExpired("why"),
		"429": apierrors.NewTooManyRequests("why", 0), "500": apierrors.NewInternalError(errors.New("why")), "503": apierrors.NewServiceUnavailable("why"),
		"504": apierrors.NewServerTimeout(addresses, "list", 0),
	} {
		for last := range allRequests {
			t.Run(fmt.Sprintf("%s for request %d", name, last+1), func(t *testing.T) {
				l := &listing{before: func(n int) error {
					if n > last {
						return failure
					}
					return nil
				}}
				s, err := l.list(t.Context(), t)
				require.Equal(t, apierrors.ReasonForError(failure), apierrors.ReasonForError(err))
				require.Zero(t, s)
				require.Equal(t, allRequests[:last+1], l.requests, "it does not begin again")
			})
		}
	}
	for last := range allRequests {
		t.Run(fmt.Sprintf("the context ends at request %d", last+1), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l := &listing{before: func(n int) error {
				if n > last {
					cancel()
					<-ctx.Done()
				}
				return nil
			}}
			s, err := l.list(ctx, t)
			require.ErrorIs(t, err, context.Canceled)
			require.Zero(t, s)
		})
	}
	t.Run("its continue token expires", func(t *testing.T) {
		l := &listing{}
		l.before = func(n int) error {
			if n == 2 {
				l.handler.Expire()
			}
			return nil
		}
		s, err := l.list(t.Context(), t)
		require.True(t, apierrors.IsResourceExpired(err), err)
		require.Zero(t, s)
		require.Len(t, l.requests, 2, "no list of another moment takes its place")
	})
}

// What answers with 200 and is no list of the API server is an error: an object of another kind, which client-go takes for an
// empty list, and half a body.
func TestAnswerThatIsNoList(t *testing.T) {
	const list = `{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[`
	for name, body := range map[string]string{
		"a Status":                   `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`,
		"a list of another kind":     `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`,
		"another object":             `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}`,
		"an empty object":            `{}`,
		"a list without a version":   `{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1","metadata":{},"items":[]}`,
		"no list behind the kind":    `{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1"}`,
		"half a body":                list + `{"metadata":{"name":"10.9`,
		"a page of a proxy":          `<html>hello</html>`,
		"nothing":                    ``,
		"two documents":              list + `]}` + list + `]}`,
		"a version that is a number": `{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":7},"items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			answer := roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
			})
			client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1}, &http.Client{Transport: answer})
			require.NoError(t, err)
			s, err := clientgo.ListServiceCIDRs(client)(t.Context())
			require.Error(t, err)
			require.Zero(t, s)
		})
	}
}

// A continue token that goes on at another moment is no part of the list: an address that was recreated under another
// name in between is on neither page.
func TestListOfTwoMoments(t *testing.T) {
	asked := 0
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		asked++
		next := ""
		if asked == 1 {
			next = "next"
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(
			fmt.Sprintf(`{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[]}`, 6+asked, next),
		))}, nil
	})
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1}, &http.Client{Transport: answer})
	require.NoError(t, err)
	s, err := clientgo.ListServiceCIDRs(client)(t.Context())
	require.ErrorContains(t, err, "the list changed between two pages")
	require.Zero(t, s)
	require.Equal(t, 2, asked)
}

// Something between here and the API server may answer each request for the next page with the same page.
func TestListThatNeverEnds(t *testing.T) {
	asked := 0
	answer := roundTripper(func(*http.Request) (*http.Response, error) {
		if asked++; asked == 10 {
			return nil, errors.New("it goes on and on")
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(
			`{"kind":"IPAddressList","apiVersion":"networking.k8s.io/v1","metadata":{"resourceVersion":"7","continue":"next"},"items":[{"metadata":{"name":"10.0.0.1"}}]}`,
		))}, nil
	})
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1}, &http.Client{Transport: answer})
	require.NoError(t, err)
	s, err := clientgo.ListServiceCIDRs(client)(t.Context())
	require.ErrorContains(t, err, "the next page would be the same")
	require.Zero(t, s)
	require.Equal(t, 2, asked)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
