package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// bin is where build.sh puts the binaries.
var bin string

// managerBinary and reconcilerBinary are examples/manager and examples/controller-runtime, built for this run.
var managerBinary, reconcilerBinary string

// TestMain builds what is missing. The first time takes minutes: run ./build.sh to see how far it is.
func TestMain(m *testing.M) {
	flag.Parse()
	// The stories wait more than they work.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if bin, err = filepath.Abs(cluster.Binaries()); err != nil {
		return 0, err
	}
	script := exec.Command("./build.sh", "etcd", "kube-apiserver")
	if !testing.Short() {
		script.Args = append(script.Args, "kube-controller-manager")
	}
	script.Stdout, script.Stderr = os.Stdout, os.Stderr
	if err := script.Run(); err != nil {
		return 0, fmt.Errorf("build.sh: %w", err)
	}
	if managerBinary, err = build("manager"); err != nil {
		return 0, err
	}
	if reconcilerBinary, err = build("controller-runtime"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build makes the binary of an example, and says how long that took.
func build(example string) (path string, err error) {
	started := time.Now()
	path = filepath.Join(bin, "purekube-"+example)
	compile := exec.Command("go", "build", "-o", path, ".")
	compile.Dir = filepath.Join("..", "..", "..", "examples", example)
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("examples/%s: %w\n%s", example, err, out)
	}
	fmt.Printf("examples/%s: built in %.0f s\n", example, time.Since(started).Seconds())
	return path, nil
}
