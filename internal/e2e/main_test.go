package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// bin is where build.sh puts the binaries.
var bin string

// managerBinary is examples/manager, built for this run.
var managerBinary string

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
	if bin, err = filepath.Abs("bin"); err != nil {
		return 0, err
	}
	build := exec.Command("./build.sh")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build.sh: %w", err)
	}
	managerBinary = filepath.Join(bin, "purekube-manager")
	started := time.Now()
	build = exec.Command("go", "build", "-o", managerBinary, ".")
	build.Dir = filepath.Join("..", "..", "examples", "manager")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("examples/manager: %w\n%s", err, out)
	}
	fmt.Printf("purekube-manager: built in %.0f s\n", time.Since(started).Seconds())
	return m.Run(), nil
}
