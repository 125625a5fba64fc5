package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/examples/manager/cores"
)

// listing is a controller that has or has not listed its objects.
type listing struct{ synced bool }

func (l *listing) Name() string                              { return "slow" }
func (l *listing) HasSynced() bool                           { return l.synced }
func (l *listing) Run(context.Context, <-chan struct{}, int) {}

func TestServe(t *testing.T) {
	l := &listing{}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	_, err = serve(address, nil)
	require.Error(t, err, "somebody else has the address: the manager must say so at the start")
	require.NoError(t, free.Close())

	server, err := serve(address, []cores.Runner{l})
	require.NoError(t, err)
	defer server.Close()
	get := func(path string) (int, string) {
		answer, err := http.Get("http://" + address + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	status, _ := get("/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body := get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "slow has not listed all objects yet")
	l.synced = true
	status, _ = get("/readyz")
	require.Equal(t, http.StatusOK, status)
	status, body = get("/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "process_cpu_seconds_total")
}
