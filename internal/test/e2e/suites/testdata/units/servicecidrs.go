package servicecidrs

import (
	"context"
	"errors"
	"net/netip"
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
	d, err := core.CheckDeletion(s, core.KeyOf(cidr), 1, adapter.Options().ServiceCIDR)
	return d.Safe, err
}

func (c *Controller) containingServiceCIDRs(ip *networkingv1.IPAddress) []string {
	s, _ := c.snapshot()
	address, err := netip.ParseAddr(ip.Name)
	if err != nil {
		return []string{}
	}
	return namesOf(core.CIDRsWithAddress(s.ServiceCIDRs, address))
}

func (c *Controller) overlappingServiceCIDRs(cidr *networkingv1.ServiceCIDR) []string {
	s, _ := c.snapshot()
	var found []*networkingv1.ServiceCIDR
	for _, text := range cidr.Spec.CIDRs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			found = append(found, core.CIDRsOverlapping(s.ServiceCIDRs, prefix)...)
		}
	}
	return namesOf(found)
}

// namesOf are the names, sorted, each once.
func namesOf(cidrs []*networkingv1.ServiceCIDR) []string {
	names := []string{}
	for _, o := range cidrs {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
