// Package charts asks purekube about manifests that others publish: rendered charts, install files and manifests of
// Kubernetes itself. They are read from Go modules in the module cache and are not part of this repository. It is a
// module of its own, since its test downloads these modules. README.md lists them, and says of each finding whether it
// is true. Another test compares `purekube lint -o sarif` with the schema of SARIF 2.1.0, which is in such a module as
// well.
package charts
