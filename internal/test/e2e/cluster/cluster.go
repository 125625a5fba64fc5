// Package cluster runs an API server with its etcd, on this machine only.
package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Cluster is an etcd and an API server, with RBAC and no controllers at all.
type Cluster struct {
	// URL of the API server.
	URL string

	bin, folder     string
	flags           []string // more flags of the API server
	ports           []int
	etcd, apiserver *Process
}

// Release is the minor release of Kubernetes that the environment asks for, such as v1.37. "" is the release of bins/go.mod.
func Release() string { return os.Getenv("KUBERNETES") }

// Binaries is the folder into which build.sh puts what it builds of that release, seen from the folder of build.sh.
func Binaries() string { return filepath.Join("bin", Release()) }

// Start runs a cluster from the binaries in bin, with its files in folder and more flags for the API server, and
// returns when it is ready.
func Start(bin, folder string, flags ...string) (*Cluster, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	c := &Cluster{URL: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), bin: bin, folder: folder, flags: flags, ports: ports}
	if err := errors.Join(writeKey(c.key()), os.WriteFile(c.tokens(), []byte(tokensFile), 0o600)); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) key() string    { return filepath.Join(c.folder, "service-accounts.key") }
func (c *Cluster) tokens() string { return filepath.Join(c.folder, "tokens.csv") }
func (c *Cluster) data() string   { return filepath.Join(c.folder, "etcd") }

// start runs the processes with what there is in the folder.
func (c *Cluster) start() (err error) {
	etcdURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", c.ports[0]), fmt.Sprintf("http://127.0.0.1:%d", c.ports[1])
	c.etcd, err = StartProcess(filepath.Join(c.folder, "etcd.log"), filepath.Join(c.bin, "etcd"),
		"--data-dir="+c.data(), "--unsafe-no-fsync",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL)
	if err != nil {
		return err
	}
	key := c.key()
	c.apiserver, err = StartProcess(filepath.Join(c.folder, "kube-apiserver.log"), filepath.Join(c.bin, "kube-apiserver"),
		append([]string{
			"--etcd-servers=" + etcdURL,
			// v1.37 does not advertise a loopback address, and nothing here looks up the endpoints of the API server.
			"--bind-address=127.0.0.1", "--endpoint-reconciler-type=none", fmt.Sprintf("--secure-port=%d", c.ports[2]),
			"--cert-dir=" + filepath.Join(c.folder, "certificates"),
			"--authorization-mode=RBAC", "--token-auth-file=" + c.tokens(),
			"--service-account-issuer=https://127.0.0.1", "--service-account-key-file=" + key,
			"--service-account-signing-key-file=" + key,
			"--service-cluster-ip-range=10.0.0.0/24",
			// Pods are created without a controller that makes service accounts for them.
			"--disable-admission-plugins=ServiceAccount",
			"--max-requests-inflight=800", "--max-mutating-requests-inflight=400",
		}, c.flags...)...)
	if err != nil {
		return err
	}
	return c.waitReady(3 * time.Minute)
}

// BackUp copies everything that the cluster holds into a folder that is not there yet. The cluster is down meanwhile.
func (c *Cluster) BackUp(folder string) error {
	return c.restart(func() error { return os.CopyFS(folder, os.DirFS(c.data())) })
}

// Restore replaces everything that the cluster holds with what was copied. The cluster is down meanwhile.
func (c *Cluster) Restore(folder string) error {
	return c.restart(func() error {
		return errors.Join(os.RemoveAll(c.data()), os.CopyFS(c.data(), os.DirFS(folder)), os.Chmod(c.data(), 0o700))
	})
}

func (c *Cluster) restart(whileDown func() error) error {
	c.apiserver.Kill() // it would wait for the watches of its clients to end
	if err := errors.Join(c.etcd.Stop(), whileDown()); err != nil {
		return err
	}
	return c.start()
}

// Stop ends the API server first: without its etcd it does not end for minutes.
func (c *Cluster) Stop() error { return errors.Join(c.apiserver.Stop(), c.etcd.Stop()) }

// PIDs of the etcd and the API server.
func (c *Cluster) PIDs() (etcd, apiserver int) { return c.etcd.PID(), c.apiserver.PID() }

// Users that the API server knows. Admin may do everything; Manager is the service account that
// examples/manager/manifests is about, and may do what it is bound to.
const (
	Admin   = "admin"
	Manager = "system:serviceaccount:purekube:purekube-manager"
	// KubeControllerManager is the user of the real one.
	KubeControllerManager = "system:kube-controller-manager"
)

const tokensFile = Admin + `-token,` + Admin + `,1,"system:masters"
` + Manager + `-token,` + Manager + `,2,"system:serviceaccounts,system:serviceaccounts:purekube"
` + KubeControllerManager + `-token,` + KubeControllerManager + `,3,"system:masters"
`

// Config is for a client of that user.
func (c *Cluster) Config(user string) *rest.Config {
	return &rest.Config{
		Host: c.URL, BearerToken: user + "-token", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.Endpoint().CAFile},
	}
}

// Endpoint is where clients find the API server, or a proxy in front of it.
type Endpoint struct{ URL, CAFile string }

// Endpoint of the API server itself.
func (c *Cluster) Endpoint() Endpoint {
	return Endpoint{c.URL, filepath.Join(c.folder, "certificates", "apiserver.crt")}
}

// Kubeconfig writes a kubeconfig for that user at that endpoint and returns its path.
func (c *Cluster) Kubeconfig(user string, at Endpoint) (string, error) {
	return c.KubeconfigWith(user, user+"-token", at)
}

// KubeconfigWith writes a kubeconfig with a token of that user.
func (c *Cluster) KubeconfigWith(user, token string, at Endpoint) (string, error) {
	path := filepath.Join(c.folder, strings.NewReplacer(":", "-", "/", "-").Replace(user+at.URL)+".kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: at.URL, CertificateAuthority: at.CAFile}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: user}
	config.CurrentContext = "e2e"
	return path, clientcmd.WriteToFile(*config, path)
}

func (c *Cluster) waitReady(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := c.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready after %s: %w; see %s", patience, err, c.folder)
		case <-c.apiserver.Ended():
			return fmt.Errorf("the API server ended; see %s", c.folder)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *Cluster) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.Config(Admin)) // fails until the API server has made its certificate
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", answer.Status)
	}
	return nil
}

// FreePorts returns ports that nobody listened on a moment ago.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // keeps the next one from getting the same port
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), 0o600)
}
