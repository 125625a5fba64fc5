package install

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The image has the files that the Dockerfile copies and nothing else, so the program in it must need no other.
func TestImage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	require.NoError(t, err)
	instructions := regexp.MustCompile(`(?m)^[A-Z]+ .*$`).FindAllString(string(text), -1)
	require.Equal(t, []string{
		"FROM scratch", "COPY purekube LICENSE /", "USER 65534:65534", `ENTRYPOINT ["/purekube"]`,
	}, instructions)

	built := os.Getenv("PUREKUBE_PROGRAM")
	if built == "" {
		t.Skip("a program that go install builds is not static; .ci/archives has one that is")
	}
	file, err := elf.Open(built)
	require.NoError(t, err)
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries, "the program is linked to libraries that the image lacks")
	require.False(t, slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }),
		"the program needs a loader that the image lacks")

	if os.Getuid() != 0 {
		return // only root may run it where there is nothing else
	}
	image := t.TempDir()
	require.NoError(t, os.Chmod(image, 0o755))
	for from, name := range map[string]string{built: "purekube", filepath.Join(root, "LICENSE"): "LICENSE"} {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(image, name), content, 0o755))
	}
	for _, c := range []struct{ args, want string }{
		{"version", "purekube "},
		{"drain all --force --demo", "Drains: 3 never"},
	} {
		run := exec.CommandContext(t.Context(), "/purekube", strings.Fields(c.args)...)
		run.Dir, run.Env = "/", []string{}
		run.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := run.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), c.want)
	}
}
