package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// issue writes a certificate with this serial number, and its key.
func issue(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// A renewed certificate is served without a restart, and files that are half written do not end the service.
func TestRenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	_, err := loadCertificate(certFile, keyFile, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, os.ErrNotExist, "at the start, a certificate is required")

	synctest.Test(t, func(t *testing.T) {
		issue(t, certFile, keyFile, 1)
		c, err := loadCertificate(certFile, keyFile, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		served := func() int64 {
			pair, err := c.get(nil)
			require.NoError(t, err)
			return pair.Leaf.SerialNumber.Int64()
		}
		require.EqualValues(t, 1, served())

		issue(t, certFile, filepath.Join(dir, "other.key"), 2)
		time.Sleep(certificatePause)
		require.EqualValues(t, 1, served(), "the key is another certificate's")

		require.NoError(t, os.Remove(keyFile))
		time.Sleep(certificatePause)
		require.EqualValues(t, 1, served(), "there is no key")

		issue(t, certFile, keyFile, 3)
		require.EqualValues(t, 1, served(), "not read with each handshake")
		time.Sleep(certificatePause)
		require.EqualValues(t, 3, served())
	})
}
