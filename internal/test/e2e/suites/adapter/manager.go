package adapter

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/controllerruntime"
)

// onManager makes the controller of controllerruntime, on a manager of its own that has the API server and the
// credentials of the client.
func onManager(
	core string, client kubernetes.Interface, o clientgo.PackageOptions,
) (run func(context.Context) error, err error) {
	config, err := configOf(client)
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, manager.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
	if err != nil {
		return nil, err
	}
	return mgr.Start, controllerruntime.Add(mgr, clientgo.SetOptions{Controllers: []string{core}, PackageOptions: o})
}

// configOf has the API server and the credentials of the client.
func configOf(client kubernetes.Interface) (*rest.Config, error) {
	of, ok := client.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		return nil, fmt.Errorf("a %T in place of a REST client", client.CoreV1().RESTClient())
	}
	url := of.Get().URL()
	return &rest.Config{Host: url.Scheme + "://" + url.Host, Transport: of.Client.Transport, QPS: -1}, nil
}
