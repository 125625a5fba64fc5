package apiserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Serve serves the handler until stop, and returns the only way to it. Its connections are in memory: in a bubble of
// testing/synctest no time passes while a request or an answer is under way, however slow the machine is.
func Serve(h http.Handler) (way http.RoundTripper, stop func()) {
	l := &listener{dialed: make(chan net.Conn), closed: make(chan struct{})}
	client, server := &http.Transport{DialContext: l.dial}, &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // the error says that it was closed
	return client, func() {
		_ = server.Close() // nothing can go wrong in memory
		serving.Wait()
		client.CloseIdleConnections()
	}
}

// listener accepts connections of this process.
type listener struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.dialed <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept is part of net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close is part of net.Listener. An http.Server calls it once.
func (l *listener) Close() error {
	close(l.closed)
	return nil
}

// Addr is part of net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
