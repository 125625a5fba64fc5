package main

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificatePause is how long a certificate is served before its files are read again.
const certificatePause = 5 * time.Second

// certificate is a certificate that others renew, such as cert-manager: its files are read again while it is served.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu sync.Mutex
	// read is when the files were read, from what they had, and pair what that was.
	read      time.Time
	cert, key []byte
	pair      *tls.Certificate
}

// loadCertificate is an error where the files do not have a certificate with its key.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	return c, c.reload(time.Now())
}

// get is tls.Config.GetCertificate. While the files are half written, the certificate before counts.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.read) >= certificatePause {
		if err := c.reload(now); err != nil {
			c.log.Error("the certificate is not read again", "error", err)
		}
	}
	return c.pair, nil
}

func (c *certificate) reload(now time.Time) error {
	c.read = now
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil || bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	c.cert, c.key, c.pair = cert, key, &pair
	return nil
}
