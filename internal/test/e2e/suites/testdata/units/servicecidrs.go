package servicecidrs

import (
	"context"
	"errors"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/purekube-suites/adapter"
	core "github.com/purekube/purekube/servicecidr"
)

func (c *Controller) snapshot() (core.Snapshot, error) {
	cidrs, err := c.serviceCIDRLister.List(labels.Everything())
	addresses, err2 := c.ipAddressLister.List(labels.Everything())
	return core.Snapshot{Now: time.Now(), ServiceCIDRs: cidrs, IPAddresses: addresses}, errors.Join(err, err2)
}

func (c *Controller) sync(ctx context.Context, key string) error {
	s, err := c.snapshot()
	if err != nil {
		return err
	}
	result, err := core.Plan(s, core.Key(key), adapter.Options().ServiceCIDR)
	return errors.Join(err, adapter.CarryOut(ctx, c.client, result.Actions, nil))
}

func (c *Controller) canDeleteCIDR(_ context.Context, cidr *networkingv1.ServiceCIDR) (bool, error) {
	s, err := c.snapshot()
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(s.ServiceCIDRs, func(o *networkingv1.ServiceCIDR) bool { return o.Name == cidr.Name }) {
		s.ServiceCIDRs = append(s.ServiceCIDRs, cidr)
	}
	d, err := core.NewIndex(s, adapter.Options().ServiceCIDR).CheckDeletion(core.KeyOf(cidr), 1)
	return d.Safe, err
}

func (c *Controller) containingServiceCIDRs(ip *networkingv1.IPAddress) []string {
	return c.affected(core.Snapshot{IPAddresses: []*networkingv1.IPAddress{ip}}, "")
}

func (c *Controller) overlappingServiceCIDRs(cidr *networkingv1.ServiceCIDR) []string {
	return c.affected(core.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{cidr}}, cidr.Name)
}

// affected are the names of the known ServiceCIDRs that an addition affects, and of this one only if it is known.
func (c *Controller) affected(added core.Snapshot, own string) []string {
	s, _ := c.snapshot()
	without, _ := core.NewIndex(s, adapter.Options().ServiceCIDR).Without(added)
	_, keys := without.With(added)
	names := []string{}
	for _, key := range keys {
		isThis := func(o *networkingv1.ServiceCIDR) bool { return o.Name == own }
		if key.Name != own || slices.ContainsFunc(s.ServiceCIDRs, isThis) {
			names = append(names, key.Name)
		}
	}
	return names
}
