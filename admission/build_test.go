package admission

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// indexesOf arranges the objects of a cluster.
func indexesOf(c *purekubetest.Cluster) Indexes {
	c.Now = reviews.Noon
	return Indexes{
		ServiceCIDRs: servicecidr.NewIndex(c.ServiceCIDR(), servicecidr.Options{}),
		ClusterRoles: rbacaggregate.NewIndex(c.RBACAggregate(), rbacaggregate.Options{}),
		Disruption:   disruption.NewIndex(c.Disruption(), disruption.Options{}),
	}
}

// cluster is the tests' cluster with some more objects, or others of the same names.
func cluster(t testing.TB, more ...purekubetest.Object) Indexes {
	t.Helper()
	var objects []purekubetest.Object
	for _, o := range reviews.Cluster() {
		objects = append(objects, o.(purekubetest.Object))
	}
	x, changed := indexesOf(purekubetest.NewCluster(t, objects...)), purekubetest.NewCluster(t, more...)
	changed.Now = reviews.Noon
	x.ServiceCIDRs, _ = x.ServiceCIDRs.With(changed.ServiceCIDR())
	x.ClusterRoles, _ = x.ClusterRoles.With(changed.RBACAggregate())
	x.Disruption, _ = x.Disruption.With(changed.Disruption())
	return x
}

func messageOf(a *admissionv1.AdmissionResponse) string {
	if a.Result == nil {
		return ""
	}
	return a.Result.Message
}
