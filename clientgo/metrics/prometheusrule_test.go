package metrics_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// prometheusRule is what the operator of Prometheus reads.
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         metav1.Duration   `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// The alerting rule has the fields of a PrometheusRule. Its expression and its templates use the gauge's name and
// labels.
func TestPrometheusRule(t *testing.T) {
	content, err := os.ReadFile("prometheusrule.yaml")
	require.NoError(t, err)
	asJSON, err := yaml.ToJSON(content)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.DisallowUnknownFields()
	var rule prometheusRule
	require.NoError(t, decoder.Decode(&rule))
	require.Equal(t, metav1.TypeMeta{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule"}, rule.TypeMeta)
	require.Len(t, rule.Spec.Groups, 1)
	require.Len(t, rule.Spec.Groups[0].Rules, 1)
	alert := rule.Spec.Groups[0].Rules[0]
	// There is no parser of PromQL among the dependencies: an expression of another form needs a closer look.
	parts := regexp.MustCompile(`^max by \(([a-z]+), ([a-z]+)\) \(([a-z_]+)\) == 1$`).FindStringSubmatch(alert.Expr)
	require.NotNil(t, parts, alert.Expr)
	require.Equal(t, gauge, parts[3])
	labels := map[string]string{parts[1]: "the first", parts[2]: "the second"}
	require.ElementsMatch(t, []string{"namespace", "poddisruptionbudget"}, slices.Collect(maps.Keys(labels)))
	require.Positive(t, alert.For.Duration)
	for name, text := range alert.Annotations {
		parsed, err := template.New(name).Option("missingkey=error").Parse("{{ $labels := . }}" + text)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, parsed.Execute(&b, labels), "%s: a label that the series does not have", name)
	}
}
