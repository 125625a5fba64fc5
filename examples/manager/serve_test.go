package main

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServe(t *testing.T) {
	unsynced := []string{"slow"}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	_, err = serve(address, nil)
	require.Error(t, err, "somebody else has the address: the manager must say so at the start")
	require.NoError(t, free.Close())

	server, err := serve(address, func() []string { return unsynced })
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
	require.Contains(t, body, "slow: not all objects are listed yet")
	unsynced = nil
	status, _ = get("/readyz")
	require.Equal(t, http.StatusOK, status)
	status, body = get("/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "process_cpu_seconds_total")
}
