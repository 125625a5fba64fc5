// Package install tests the ways in which users get the command, apart from go install: the GitHub action, the
// pre-commit hook, the image, and the names of the archives that krew and the action download. .ci/archives makes real
// archives, and installs them with krew.
package install
