// Package reports reproduces defects of kube-controller-manager with its real controllers.
//
// Each test belongs to a page of docs/upstream, which is a report to Kubernetes. It passes while the defect exists and
// fails once a release has fixed it. The report has then done its work: remove the page and the test, and see whether
// the divergence is still one.
//
// The tests use nothing of purekube. A controller is built with its exported constructor, client-go's fake clientset
// and real informers, and runs in a testing/synctest bubble, as a test in Kubernetes' own repository would run it.
package reports
