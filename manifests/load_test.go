package manifests

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

const (
	nodeWithout = "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n"
	nodeAt0     = "apiVersion: v1\nkind: Node\nmetadata:\n  name: %\n  annotations:\n    node.alpha.kubernetes.io/ttl: '0'\n"
)

func named(manifest, name string) string { return strings.ReplaceAll(manifest, "%", name) }

// of loads a text.
func of(text string) (*Set, error) {
	return Load(Options{Stdin: strings.NewReader(text)}, "-")
}

// Whatever is wrong gets one error with the place, and what is right is in the set all the same.
func TestBadInput(t *testing.T) {
	good := named(nodeWithout, "good")
	for _, tc := range []struct{ name, reason, input, want string }{
		{"broken YAML", "a document that does not parse", "a: b: c\n---\n" + good,
			"in.yaml:1: document 1: not YAML: yaml: mapping values are not allowed in this context"},
		{"a key twice", "nobody can say which one counts", good + "---\nkind: Node\nkind: Pod\n",
			"in.yaml:6: document 2: not YAML: yaml: unmarshal errors: line 2: key \"kind\" already set in map"},
		{"a scalar", "YAML, but no object", "hello\n---\n" + good,
			"in.yaml:1: document 1: not a Kubernetes object"},
		{"no kind", "what it is cannot be told", "apiVersion: v1\n---\n" + good,
			"in.yaml:1: document 1: kind: required"},
		{"no version", "the same kind may mean two things", "kind: Node\nmetadata: {name: x}\n---\n" + good,
			"in.yaml:1: document 1: Node x: apiVersion: required"},
		{"no name", "nothing to plan for", "apiVersion: v1\nkind: Node\n---\n" + good,
			"in.yaml:1: document 1: Node: metadata.name: required"},
		{"wrong type", "the field is named", "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: {unschedulable: maybe}\n---\n" + good,
			"in.yaml:1: document 1: Node x: spec.unschedulable: is a string, must be of type bool"},
		{"number and percentage", "the other form is named", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {maxUnavailable: true}\n---\n" + good,
			"in.yaml:1: document 1: PodDisruptionBudget default/x: spec.maxUnavailable: is a bool, must be of type int32, or a percentage such as \"30%\""},
		{"a word that YAML reads as bool", "the way out is named", "apiVersion: v1\nkind: Node\nmetadata: {name: no}\n---\n" + good,
			"in.yaml:1: document 1: metadata.name: is a bool, must be of type string, so put it in quotes: YAML reads y, n, yes, no, on, off, true and false as bool"},
		{"a number as a label", "the way out is named", "apiVersion: v1\nkind: Node\nmetadata: {name: x, labels: {a: 1}}\n---\n" + good,
			"in.yaml:1: document 1: Node x: metadata.labels: is a number, must be of type string, so put it in quotes"},
		{"a field that Go types share", "these types are no part of the field", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {volumes: [{fc: {lun: '2'}}]}\n---\n" + good,
			"in.yaml:1: document 1: Pod default/x: spec.volumes.fc.lun: is a string, must be of type int32"},
		{"a quantity", "its own error has no field", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a}, {name: b, resources: {requests: {memory: 1G, cpu: 1x}}}]}\n---\n" + good,
			"in.yaml:1: document 1: Pod default/x: spec.containers[1].resources.requests.cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"a quantity in an embedded type", "the type is no part of the field", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {volumes: [{name: a, emptyDir: {sizeLimit: 1x}}]}\n---\n" + good,
			"in.yaml:1: document 1: Pod default/x: spec.volumes[0].emptyDir.sizeLimit: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"a time", "its own error has no field either", "apiVersion: v1\nkind: Node\nmetadata: {name: x, creationTimestamp: today}\n---\n" + good,
			`in.yaml:1: document 1: Node x: metadata.creationTimestamp: parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`},
		{"a key of a map", "no line of a message is a user's", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {overhead: {\"a\\nb\": 1x}}\n---\n" + good,
			"in.yaml:1: document 1: Pod default/x: spec.overhead.a b: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"two times", "field and reason are of the same one, whichever the decoder comes to first", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nstatus: {containerStatuses: [{name: a, state: {running: {startedAt: now}}}], startTime: today}\n---\n" + good,
			`in.yaml:1: document 1: Pod default/x: status.startTime: parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`},
		{"a list", "the grammar of it", "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: {unschedulable: []}\n---\n" + good,
			"in.yaml:1: document 1: Node x: spec.unschedulable: is an array, must be of type bool"},
		{"items that are no list", "one of a kind that is called a list", "apiVersion: v1\nkind: List\nitems: 7\n---\n" + good,
			"in.yaml:1: document 1: items: is a number, must be a list"},
		{"a kind in lower case", "it would be left out of the plan without a word", "apiVersion: policy/v1\nkind: poddisruptionbudget\nmetadata: {name: x}\n---\n" + good,
			"in.yaml:1: document 1: poddisruptionbudget x: kind: is poddisruptionbudget: must be PodDisruptionBudget"},
		{"a kind in the plural", "the same", "apiVersion: v1\nkind: Nodes\nmetadata: {name: x}\n---\n" + good,
			"in.yaml:1: document 1: Nodes x: kind: is Nodes: must be Node"},
		{"unknown field", "a field that is misspelt would count as absent", "apiVersion: v1\nkind: Node\nmetadata: {name: good}\nspec: {unschedulabel: true}\n",
			"in.yaml:1: document 1: Node good: spec.unschedulabel: unknown field"},
		{"another group", "the API server has no such kind there", "apiVersion: apps/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\n---\n" + good,
			"in.yaml:1: document 1: PodDisruptionBudget default/x: apiVersion: is apps/v1, which has no PodDisruptionBudget: must be policy/v1"},
		{"a list in a list", "it may hold anything", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: PodList\n  items: [{metadata: {name: p}}]\n---\n" + good,
			"in.yaml:4: document 1, item 1: PodList: a list in a list is not read"},
		{"a list in a JSON list", "the same", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"}}]}]}` + oneNode("good"),
			"in.yaml:1: document 1, item 1: PodList: a list in a list is not read"},
		{"an answer that is an error", "nobody knows what was asked for", "kind: Status\napiVersion: v1\nstatus: Failure\nmessage: \"pods is forbidden:\\n no right\"\n---\n" + good,
			"in.yaml:1: document 1: Status: an API server's error in place of objects: pods is forbidden: no right"},
		{"old version", "no core reads it, and it may be what matters", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\n---\n" + good,
			"in.yaml:1: document 1: PodDisruptionBudget default/x: apiVersion: is policy/v1beta1: only policy/v1 is read, which every supported API server serves (with helm template, add --kube-version and --api-versions policy/v1/PodDisruptionBudget)"},
		{"wrong item", "the item of the list is named", "apiVersion: v1\nkind: List\nitems:\n- 17\n- {apiVersion: v1, kind: Node, metadata: {name: good}}\n",
			"in.yaml:4: document 1, item 1: not a Kubernetes object"},
		{"two of one name", "both places are named", good + "---\n" + named(nodeAt0, "twin") + "---\n" + named(nodeAt0, "twin"),
			"in.yaml:6: document 2 and in.yaml:13: document 3: Node twin: the input has this object more than once"},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := Load(Options{Files: fstest.MapFS{"in.yaml": {Data: []byte(tc.input)}}}, "in.yaml")
			errs := Errors(err)
			require.Len(t, errs, 1)
			if diff := cmp.Diff(tc.want, errs[0].Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			require.Equal(t, "good", set.Nodes[0].Name, "the rest of the input is read")
		})
	}
}

// From Go 1.27 on, encoding/json has an error of syntax where it had io.EOF.
func TestInputThatEndsInsideAValue(t *testing.T) {
	var value any
	syntax := json.Unmarshal([]byte(`{"a":`), &value)
	require.EqualError(t, syntax, "unexpected end of JSON input")
	for _, err := range []error{syntax, io.EOF, io.ErrUnexpectedEOF} {
		require.Equal(t, io.ErrUnexpectedEOF, inTheMiddle(err))
	}
	other := json.Unmarshal([]byte(`{"a":x`), &value)
	require.Equal(t, other, inTheMiddle(other))
}

// Every form in which kubectl prints objects is read.
func TestForms(t *testing.T) {
	node := func(name string) string {
		return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}`
	}
	for _, tc := range []struct {
		name, reason string
		files        fstest.MapFS
		stdin        string
		paths        []string
		want         []string // the nodes
	}{
		{name: "one document", reason: "kubectl get node a -o yaml",
			stdin: named(nodeWithout, "a"), paths: []string{"-"}, want: []string{"a"}},
		{name: "documents", reason: "several joined by ---, with comments only between",
			stdin: "---\n" + named(nodeWithout, "a") + "---\n# nothing\n---\n" + named(nodeWithout, "b"), paths: []string{"-"}, want: []string{"a", "b"}},
		{name: "windows", reason: "line ends with a carriage return",
			stdin: strings.ReplaceAll(named(nodeWithout, "a")+"---\n"+named(nodeWithout, "b"), "\n", "\r\n"), paths: []string{"-"}, want: []string{"a", "b"}},
		{name: "list", reason: "kubectl get nodes -o yaml",
			stdin: "apiVersion: v1\nkind: List\nitems:\n- " + node("a") + "\n- " + node("b") + "\n", paths: []string{"-"}, want: []string{"a", "b"}},
		{name: "typed list", reason: "kubectl get --raw /api/v1/nodes: the items have no kind",
			stdin: `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}}]}`, paths: []string{"-"}, want: []string{"a"}},
		{name: "JSON", reason: "kubectl get nodes -o json",
			stdin: "\n {\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" + node("a") + "]}", paths: []string{"-"}, want: []string{"a"}},
		{name: "JSON values", reason: "several kubectl calls in one pipe",
			stdin: node("a") + "\n" + node("b"), paths: []string{"-"}, want: []string{"a", "b"}},
		{name: "folder", reason: "its manifests, also those in folders below, no other files and nothing hidden",
			files: fstest.MapFS{
				"in/a.yaml":          {Data: []byte(named(nodeWithout, "a"))},
				"in/deep/b.yml":      {Data: []byte(named(nodeWithout, "b"))},
				"in/c.json":          {Data: []byte(node("c"))},
				"in/d.yaml.gz":       {Data: []byte(zippedTimes(t, "", named(nodeWithout, "zipped"), 1))},
				"in/notes.txt":       {Data: []byte("not a manifest")},
				"in/.hidden/d.yaml":  {Data: []byte(named(nodeWithout, "d"))},
				"in/.hidden-e.yaml":  {Data: []byte(named(nodeWithout, "e"))},
				"elsewhere/f.yaml":   {Data: []byte(named(nodeWithout, "f"))},
				"in/g.yaml/nope.txt": {Data: []byte("a folder may be called so")},
			}, paths: []string{"in"}, want: []string{"a", "c", "zipped", "b"}},
		{name: "a file of any name", reason: "who names it means it",
			files: fstest.MapFS{"dump": {Data: []byte(named(nodeWithout, "a"))}}, paths: []string{"dump"}, want: []string{"a"}},
		{name: "several", reason: "files and standard input together",
			files: fstest.MapFS{"one.yaml": {Data: []byte(named(nodeWithout, "a"))}},
			stdin: named(nodeWithout, "b"), paths: []string{"one.yaml", "-"}, want: []string{"a", "b"}},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			var files fs.FS
			if tc.files != nil {
				files = tc.files
			}
			set, err := Load(Options{Files: files, Stdin: strings.NewReader(tc.stdin)}, tc.paths...)
			require.NoError(t, err)
			require.True(t, set.Complete)
			var nodes []string
			for _, o := range set.Nodes {
				nodes = append(nodes, o.Name)
			}
			if diff := cmp.Diff(tc.want, nodes); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Each object has file, document, item and line, whatever form it is in.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name, reason, input string
		want                []Ref // of a and b
	}{
		{"documents", "comments belong to no object", "# chart\n---\n# Source: a.yaml\n" + named(nodeWithout, "a") + "\n---\n" + named(nodeWithout, "b"),
			[]Ref{{Document: 2, Line: 4}, {Document: 3, Line: 10}}},
		{"an object behind the dashes", "in flow style", "--- {apiVersion: v1, kind: Node, metadata: {name: a}}\n--- {apiVersion: v1, kind: Node, metadata: {name: b}}\n",
			[]Ref{{Document: 2, Line: 1}, {Document: 3, Line: 2}}},
		{"a list", "the line is that of the dash", "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: a\n# second\n- apiVersion: v1\n  kind: Node\n  metadata: {name: b}\nkind: List\n",
			[]Ref{{Document: 1, Item: 1, Line: 3}, {Document: 1, Item: 2, Line: 8}}},
		{"a list in flow style", "only the line of the list is known", "\nkind: List\napiVersion: v1\nitems: [{apiVersion: v1, kind: Node, metadata: {name: a}},\n  {apiVersion: v1, kind: Node, metadata: {name: b}}]\n",
			[]Ref{{Document: 1, Item: 1, Line: 2}, {Document: 1, Item: 2, Line: 2}}},
		{"JSON values", "one after the other", "\n" + oneNode("a") + "\n\n  " + oneNode("b"),
			[]Ref{{Document: 1, Line: 2}, {Document: 2, Line: 4}}},
		{"a JSON list", "as kubectl indents it", "{\n \"kind\": \"List\",\n \"apiVersion\": \"v1\",\n \"items\": [\n  " + oneNode("a") + ",\n  " + oneNode("b") + "\n ]\n}\n",
			[]Ref{{Document: 1, Item: 1, Line: 5}, {Document: 1, Item: 2, Line: 6}}},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.NoError(t, err)
			for i, name := range []string{"a", "b"} {
				want := tc.want[i]
				want.File, want.APIVersion, want.Kind, want.Name = "standard input", "v1", "Node", name
				require.Equal(t, []Ref{want}, set.Refs(purekube.Key{Kind: "Node", Name: name}), tc.reason)
			}
		})
	}
}

func oneNode(name string) string {
	return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"` + name + `"}}`
}

// A dump of a newer API server has fields that this build does not know: a note, and all objects are read.
func TestUnknownFieldOfANewerAPIServerIsANote(t *testing.T) {
	pod := func(name string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `","namespace":"ml","uid":"1","resourceVersion":"2"},"spec":{"schedulingGroup2":{},"containers":[{"name":"a"},{"name":"b","newer":1}]}}`
	}
	var items []string
	for i := range 1200 {
		items = append(items, pod(fmt.Sprintf("p%d", i)))
	}
	set, err := of(`{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",\n") + `]}`)
	require.NoError(t, err)
	require.Len(t, set.Pods, 1200)
	require.True(t, set.Complete)
	require.False(t, set.Hides(Pod))
	var notes []string
	for _, n := range set.Notes {
		notes = append(notes, n.String())
	}
	const text = "unknown field, left out: the API server that returned it knows more than this build (and 1199 more objects)"
	require.ElementsMatch(t, []string{
		"standard input:1: document 1, item 1: Pod ml/p0: spec.schedulingGroup2: " + text,
		"standard input:1: document 1, item 1: Pod ml/p0: spec.containers[].newer: " + text,
	}, notes)
}

// What a decision reads as a whole has to be known as a whole; so does what a person wrote.
func TestUnknownFieldThatIsAnError(t *testing.T) {
	const fromServer = "uid: a, resourceVersion: \"1\""
	many := strings.Builder{}
	for i := range 120 {
		fmt.Fprintf(&many, "  x%d: 1\n", i)
	}
	for _, tc := range []struct{ name, reason, input, want string }{
		{"a person's", "it may be misspelt", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {hostNetwrok: true}\n", "spec.hostNetwrok: unknown field"},
		{"without a version", "an API server gives both", "apiVersion: v1\nkind: Pod\nmetadata: {name: x, uid: a}\nspec: {hostNetwrok: true}\n", "spec.hostNetwrok: unknown field"},
		{"budget", "its spec decides", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x, " + fromServer + "}\nspec: {newer: 1}\n", "spec.newer: unknown field"},
		{"range", "its spec decides", "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: x, " + fromServer + "}\nspec: {newer: 1}\n", "spec.newer: unknown field"},
		{"claim", "its spec decides", "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x, " + fromServer + "}\nspec: {devices: {newer: 1}}\n", "spec.devices.newer: unknown field"},
		{"claims of a pod", "it says with whom", "apiVersion: v1\nkind: Pod\nmetadata: {name: x, " + fromServer + "}\nspec: {newer: 1, resourceClaims: [{name: a, resourceClaimName: b}]}\n", "spec.newer: unknown field"},
		{"template", "its spec is copied", "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: x, " + fromServer + "}\nspec: {spec: {newer: 1}}\n", "spec.spec.newer: unknown field"},
		{"aggregation", "it selects", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x, " + fromServer + "}\naggregationRule: {newer: 1}\n", "aggregationRule.newer: unknown field"},
		{"rules", "they are copied", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x, " + fromServer + "}\nrules: [{verbs: [get], newer: 1}]\n", "rules[0].newer: unknown field"},
		{"a hundred", "the decoder does not list more, and the next may decide", "apiVersion: v1\nkind: Pod\nmetadata: {name: x, " + fromServer + "}\nspec:\n" + many.String(), "unknown field"},
		{"a key twice", "nobody can say which one counts", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","uid":"a","resourceVersion":"1"},"spec":{"nodeName":"a","nodeName":"b"}}`, "spec.nodeName: duplicate field"},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.ErrorContains(t, err, tc.want, tc.reason)
			require.Empty(t, set.Notes)
		})
	}
	set, err := of("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x, " + fromServer + "}\nspec: {maxUnavailable: 1}\nstatus: {newer: 1}\n")
	require.NoError(t, err, "the status is not read as a whole")
	require.Len(t, set.Notes, 1)
}

// A kind that a built-in API version does not have is a typing error, unless an API server has it.
func TestUnknownKindOfAKnownVersionIsAnError(t *testing.T) {
	for _, kind := range []struct{ apiVersion, kind string }{{"policy/v1", "PodDistruptionBudget"}, {"v1", "Podd"}, {"apps/v1", "Deploymnet"}} {
		object := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x}\n", kind.apiVersion, kind.kind)
		set, err := of(object)
		require.ErrorContains(t, err, fmt.Sprintf("%s x: kind: is %s, which %s does not have in any supported release", kind.kind, kind.kind, kind.apiVersion))
		require.True(t, set.Hides(PodDisruptionBudget), "it may be one")
		require.False(t, set.Complete)
		set, err = of(strings.Replace(object, "name: x", "name: x, uid: a, resourceVersion: \"1\"", 1))
		require.NoError(t, err, "a newer API server")
		require.Len(t, set.Ignored, 1)
	}
	for _, other := range []string{"v1\nkind: Service", "policy/v1\nkind: Eviction", "apps/v1\nkind: ControllerRevision", "argoproj.io/v1alpha1\nkind: Rollout", "v1\nkind: ConfigMap", "policy/v1beta1\nkind: PodSecurityPolicy"} {
		set, err := of("apiVersion: " + other + "\nmetadata: {name: x}\n")
		require.NoError(t, err)
		require.Len(t, set.Ignored, 1)
	}
}

// Whoever decides about an object has to know that a field of it is missing, by the key that the packages give it.
func TestReadInPart(t *testing.T) {
	const budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
	for _, tc := range []struct {
		name, reason, input string
		key                 purekube.Key
		want                bool
	}{
		{"a field that is not known", "it may change the decision", budget + "spec: {newer: 1}\n", purekube.Key{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}, true},
		{"whole", "nothing is missing", budget, purekube.Key{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}, false},
		{"another group", "the object of that group is not in the set, and the other one is whole", budget + "---\n" + strings.Replace(budget, "policy/v1", "apps/v1", 1),
			purekube.Key{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}, false},
		{"no namespace", "the object gets the default one", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {newer: 1}\n",
			purekube.Key{Kind: "PodDisruptionBudget", Namespace: "default", Name: "web"}, true},
		{"a namespace that the kind does not have", "plans have none", "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: a, namespace: x}\nspec: {newer: 1}\n",
			purekube.Key{Kind: "ServiceCIDR", Name: "a"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, _ := Load(Options{Stdin: strings.NewReader(tc.input)}, "-")
			require.Equal(t, tc.want, set.ReadInPart(tc.key), tc.reason)
			full, err := set.WithNodes(1).AtFullHealth()
			require.NoError(t, err)
			require.Equal(t, tc.want, full.ReadInPart(tc.key), "at full health")
		})
	}
}

// Transform sees each object before the set has it: of a list that says the kind of its items before and after them, and of a
// document of its own.
func TestTransform(t *testing.T) {
	const pod = `{"metadata":{"name":"a","namespace":"x"},"spec":{"nodeName":"n"}}`
	for name, input := range map[string]string{
		"an object":                  `{"apiVersion":"v1","kind":"Pod",` + pod[1:],
		"a list":                     `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",` + pod[1:] + `]}`,
		"a list of pods":             `{"apiVersion":"v1","kind":"PodList","items":[` + pod + `]}`,
		"a list with its kind after": `{"items":[` + pod + `],"apiVersion":"v1","kind":"PodList"}`,
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Load(Options{Stdin: strings.NewReader(input), Transform: func(o Object) { o.(*corev1.Pod).Spec.NodeName = "" }}, "-")
			require.NoError(t, err)
			require.Len(t, set.Pods, 1)
			require.Empty(t, set.Pods[0].Spec.NodeName)
			require.Equal(t, "a", set.Pods[0].Name)
		})
	}
}
