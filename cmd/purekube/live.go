package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that a kubeconfig may ask for
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
)

// liveFlags are the flags of kubectl that say which cluster is read, and as whom.
func (inv *invocation) liveFlags(flags *pflag.FlagSet) {
	inv.kube = &genericclioptions.ConfigFlags{
		KubeConfig: ptr.To(""), Context: ptr.To(""), Impersonate: ptr.To(""), Timeout: ptr.To(noTimeout),
	}
	if inv.namespaced() {
		inv.kube.Namespace = ptr.To("")
	}
	inv.kube.AddFlags(flags)
	if inv.namespaced() {
		flags.Lookup("namespace").Usage = "read only the objects of this namespace (default: all namespaces)"
	}
	if inv.command.name == "lint" {
		flags.BoolVar(&inv.live, "live", false, "read the cluster of the current context")
	}
}

// namespaced reports whether the command can answer for one namespace. A node has pods of all of them.
func (inv *invocation) namespaced() bool {
	return inv.command.name != "drain" && inv.command.name != "report"
}

const noTimeout = "0"

// ofCluster reports whether a flag is set that says which cluster is read.
func (inv *invocation) ofCluster() bool {
	k := inv.kube
	return ptr.Deref(k.KubeConfig, "")+ptr.Deref(k.Context, "")+ptr.Deref(k.Impersonate, "")+ptr.Deref(k.Namespace,
		"") != "" || *k.Timeout != noTimeout
}

// readCluster reads the objects that the answer rests on from the cluster. If that fails, nothing is answered.
func (inv *invocation) readCluster(sys system, o manifests.Options) *cluster {
	ctx := context.Background()
	c, err := inv.liveCluster(ctx, sys, o)
	if err != nil {
		return &cluster{Set: &manifests.Set{}, problems: []problem{{what: err.Error(), unread: true}}}
	}
	return c
}

func (inv *invocation) liveCluster(ctx context.Context, sys system, o manifests.Options) (*cluster, error) {
	if inv.followed != nil { // its lists are here already
		return inv.followed.cluster(ctx, o)
	}
	l, err := inv.newReader(sys.notes(*inv), o.Progress)
	if err != nil {
		return nil, err
	}
	o.Progress = nil // it has counted already
	return l.read(ctx, inv.reads(), o)
}

// newReader returns the reader of the cluster that the flags name, and says on w which one it is.
func (inv *invocation) newReader(w io.Writer, progress func(int)) (*liveReader, error) {
	config, err := inv.kube.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	raw, err := inv.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, err
	}
	// client-go's default where nothing names a cluster. Nobody has one there.
	if len(raw.Clusters) == 0 && config.Host == "http://localhost:8080" {
		return nil, errNoCluster
	}
	host := withoutPassword(config.Host)
	text := "The cluster at " + host
	if name := cmp.Or(*inv.kube.Context, raw.CurrentContext); name != "" {
		text = "The cluster of context " + name + ", at " + host
	}
	fmt.Fprintln(w, visible(text))
	return newLiveReader(config, ptr.Deref(inv.kube.Namespace, ""), progress)
}

// errNoCluster is the error where nothing says what to read.
var errNoCluster = errors.New(
	"nothing to read: no kubeconfig names a cluster. Name files or directories with -f, or pipe kubectl get " +
		"into it (--demo is the cluster embedded in purekube)")

// withoutPassword is the URL of an API server as it is printed: its server may have a user and a password in it.
func withoutPassword(host string) string {
	if u, err := url.Parse(host); err == nil {
		return u.Redacted()
	}
	return host
}

// reads are the kinds that the answer of the command rests on, in the order in which they are read.
func (inv *invocation) reads() []schema.GroupKind {
	if inv.command.name == "lint" {
		return kindsNamed(readOrder)
	}
	var names []string
	if inv.drains() {
		names = append(names, drainDump...)
	}
	if inv.command.name != "drain" {
		for _, c := range inv.cores {
			names = append(names, c.reads...)
		}
	}
	return kindsNamed(slices.DeleteFunc(slices.Clone(readOrder), func(kind string) bool {
		return !slices.Contains(names, kind)
	}))
}

// drains reports whether the answer has drains of nodes.
func (inv *invocation) drains() bool {
	// The error was said before anything is read.
	key, _, _ := inv.object()
	return inv.command.name == "drain" || inv.command.name == "report" || inv.command.name == "explain" &&
		key.Kind == "Node"
}

// readOrder is the order in which the kinds are read. A cluster changes meanwhile, and nothing has all of it at one
// moment, so what lets something go is read before what keeps it: ServiceCIDRs before the addresses in them,
// ResourceClaims before the pods that use them. Pods come before the workloads that say how many there should be: where
// a workload grows, its new pods are missing then, but they are expected. Budgets are read last, because one that is
// missing allows everything.
var readOrder = []string{
	"ServiceCIDR", "IPAddress", "ResourceClaim", "ResourceClaimTemplate", "Pod",
	"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController", "DaemonSet", "Job", "CronJob",
	"HorizontalPodAutoscaler",
	"Node", "ClusterRole", "PodDisruptionBudget",
}

// liveReader reads the objects of a cluster as a dump of kubectl get has them: text, so that fields that this build
// does not know are seen, and every question is answered as it is for the dump. It sends GET requests only.
type liveReader struct {
	config *rest.Config
	client rest.Interface
	// watches has no timeout: a watch lasts.
	watches rest.Interface
	// namespace is the only one that is read. Empty: all.
	namespace string
	// progress is told how many objects were read.
	progress func(objects int)
	objects  int
	// maxScales is how many scales of a namespace are looked up, and maxAllScales of all together. Whoever may create pods
	// says what controls them.
	maxScales, maxAllScales int
}

// How the lists are read.
const (
	pageSize = 500
	// restarts is how often a list begins again because it expired between two pages.
	restarts = 3
	// retries is how often a request is sent again that failed, a second later or when the API server says.
	retries = 5
	// maxScales lookups take 20 seconds, and maxAllScales ten minutes.
	maxScales, maxAllScales = 1000, 30_000
	// scaleTimeout is how long the lookup of a scale takes at most, if --request-timeout does not say it.
	scaleTimeout = 30 * time.Second
)

func newLiveReader(config *rest.Config, namespace string, progress func(int)) (*liveReader, error) {
	if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
		return nil, fmt.Errorf("--namespace %q: %s", namespace, strings.Join(wrong, "; "))
	}
	config = rest.CopyConfig(config)
	config.UserAgent = "purekube/" + version()
	config.QPS, config.Burst = 50, 100
	raw := rest.CopyConfig(config)
	raw.GroupVersion = &schema.GroupVersion{}
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(raw)
	if err != nil {
		return nil, err
	}
	raw.Timeout = 0
	watches, err := rest.UnversionedRESTClientFor(raw)
	if err != nil {
		return nil, err
	}
	return &liveReader{config: config, client: client, watches: watches, namespace: namespace, progress: progress,
		maxScales: maxScales, maxAllScales: maxAllScales}, nil
}

// read returns the objects of the kinds. A kind that the account may not list, or that the API server does not serve in
// this version, is among the problems, and what rests on it is not answered. Any other error is returned: part of a
// cluster is no answer.
func (l *liveReader) read(ctx context.Context, kinds []schema.GroupKind, o manifests.Options) (*cluster, error) {
	lists, denied, err := l.lists(ctx, kinds)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, lists, denied, o)
}

// lists are the lists of the kinds, and what is wrong with each list that the account does not get.
func (l *liveReader) lists(ctx context.Context, kinds []schema.GroupKind) (zippedLists, []problem, error) {
	lists := zippedLists{}
	var denied []problem
	for _, kind := range kinds {
		resource := resourceOf(kind)
		list, err := l.list(ctx, kind, resource)
		switch {
		case apierrors.IsForbidden(err):
			denied = append(denied, problem{hides: kind,
				what: fmt.Sprintf("no right to list %s in %s: %v", resource.Resource, l.scope(kind), err)})
		case apierrors.IsNotFound(err): // it may have objects of the kind in another version
			denied = append(denied, problem{hides: kind,
				what: fmt.Sprintf("the API server does not serve %s of %s", resource.Resource, resource.GroupVersion())})
		case err != nil:
			return nil, nil, fmt.Errorf("list of %s: %w", resource.Resource, err)
		default:
			lists[resource.Resource] = list
		}
	}
	return lists, denied, nil
}

// load returns the objects of the lists, with the scales that no list has.
func (l *liveReader) load(
	ctx context.Context, lists zippedLists, denied []problem, o manifests.Options,
) (*cluster, error) {
	c := &cluster{Set: &manifests.Set{}}
	if o.Files = lists; len(lists) > 0 {
		c = load(o, slices.Sorted(maps.Keys(lists))...)
	}
	c.withoutPlaces()
	for _, p := range denied {
		if !slices.Contains(o.None, p.hides) {
			c.problems = append(c.problems, p)
			c.Hide(p.hides)
		}
	}
	found := slices.ContainsFunc(manifests.Kinds(), func(kind schema.GroupKind) bool {
		return manifests.Namespaced(kind) && c.Count(kind)+c.Unreadable[kind] > 0
	})
	if l.namespace != "" && len(denied) == 0 && !found {
		// The API server lists a namespace that does not exist as one without objects.
		c.Notes = append(c.Notes,
			manifests.Note{Text: fmt.Sprintf("no object of these kinds is in namespace %s", l.namespace)})
	}
	return c, l.addScales(ctx, c)
}

// zippedLists has the lists as files, each in a zip archive of its own: a large cluster takes a tenth of the memory.
type zippedLists map[string][]byte

func (z zippedLists) Open(name string) (fs.File, error) {
	archive, err := zip.NewReader(bytes.NewReader(z[name]), int64(len(z[name])))
	if err != nil {
		return nil, err
	}
	return archive.Open(name)
}

// resourceOf is the resource of a kind in the version that the packages read.
func resourceOf(kind schema.GroupKind) schema.GroupVersionResource {
	version := "v1"
	if kind == manifests.HorizontalPodAutoscaler {
		version = "v2"
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(version))
	return resource
}

// scope is where the kind is listed.
func (l *liveReader) scope(kind schema.GroupKind) string {
	if l.namespace != "" && manifests.Namespaced(kind) {
		return "namespace " + l.namespace
	}
	return "the whole cluster"
}

// path is where the kind is listed and watched.
func (l *liveReader) path(kind schema.GroupKind) string {
	resource := resourceOf(kind)
	path := "/apis/" + resource.GroupVersion().String()
	if resource.Group == "" {
		path = "/api/v1"
	}
	if l.namespace != "" && manifests.Namespaced(kind) {
		path += "/namespaces/" + l.namespace
	}
	return path + "/" + resource.Resource
}

// list returns all objects of the kind as one list, zipped. A list that expired between two pages begins again.
func (l *liveReader) list(
	ctx context.Context, kind schema.GroupKind, resource schema.GroupVersionResource,
) ([]byte, error) {
	var err error
	for range 1 + restarts {
		var list []byte
		if list, err = l.pages(ctx, kind, resource); !expired(err) {
			return list, err
		}
	}
	return nil, err
}

// expired reports whether the API server no longer has the version that was asked for.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// listPage is a page of a list, with its objects as text. Without items, not even an empty list, it is none.
type listPage struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue        string `json:"continue"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Items *[]stdjson.RawMessage `json:"items"`
}

func (l *liveReader) pages(
	ctx context.Context, kind schema.GroupKind, resource schema.GroupVersionResource,
) ([]byte, error) {
	var list *listWriter
	next, version := "", ""
	for {
		request := l.client.Get().AbsPath(l.path(kind)).MaxRetries(retries).Param("limit", strconv.Itoa(pageSize))
		if next != "" {
			request.Param("continue", next)
		}
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return nil, err
		}
		text, err := result.Raw()
		if err != nil {
			return nil, err
		}
		var p listPage
		if err := stdjson.Unmarshal(text, &p); err != nil {
			return nil, err
		}
		// Something between here and the API server may answer with another object, and a list of nothing is an answer.
		if p.Kind != kind.Kind+"List" || p.Metadata.ResourceVersion == "" || p.Items == nil {
			return nil, errNoList
		}
		// All pages are of one moment: what was recreated under another name between two moments may be on no page.
		if list != nil && p.Metadata.ResourceVersion != version {
			return nil, apierrors.NewResourceExpired("the list changed between two pages")
		}
		if version = p.Metadata.ResourceVersion; list == nil {
			list = newListWriter(kind, resource, version)
		}
		for _, item := range *p.Items {
			list.add(item)
		}
		l.objects += len(*p.Items)
		l.progress(l.objects)
		if next != "" && next == p.Metadata.Continue {
			return nil, errNoList // it would never end
		}
		if next = p.Metadata.Continue; next == "" {
			return list.end(), nil
		}
	}
}

// listWriter writes a list, zipped. It writes to memory, which has no errors.
type listWriter struct {
	zipped bytes.Buffer
	// kind begins each item, which does not repeat it in a list: an item of a known kind need not wait for the end of the
	// list.
	kind    string
	archive *zip.Writer
	list    io.Writer
	items   int
}

func newListWriter(kind schema.GroupKind, resource schema.GroupVersionResource, version string) *listWriter {
	w := &listWriter{kind: fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, resource.GroupVersion().String(), kind.Kind)}
	w.archive = zip.NewWriter(&w.zipped)
	w.archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	w.list, _ = w.archive.Create(resource.Resource)
	fmt.Fprintf(w.list, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":%q},"items":[`,
		resource.GroupVersion().String(), kind.Kind+"List", version)
	return w
}

func (w *listWriter) add(item []byte) {
	if w.items++; w.items > 1 {
		fmt.Fprint(w.list, ",")
	}
	if fields, is := bytes.CutPrefix(item, []byte(`{"metadata"`)); is {
		fmt.Fprint(w.list, w.kind)
		item = append([]byte(`"metadata"`), fields...)
	}
	fmt.Fprintf(w.list, "%s", item)
}

func (w *listWriter) end() []byte {
	fmt.Fprint(w.list, "]}")
	_ = w.archive.Close()
	return w.zipped.Bytes()
}

// errNoList is the error for an answer that is no page of the list that was asked for.
var errNoList = errors.New("the answer is not a list of the kind")

// addScales looks up the scales of the controllers that no list has, such as Rollouts. A scale that is not found, or is
// one too many, stays a lookup. An API version that did not answer in time once is not asked again.
func (l *liveReader) addScales(ctx context.Context, c *cluster) error {
	var lookup *clientgo.Lookup
	late := map[string]error{}
	for _, need := range l.scales(c) {
		if lookup == nil {
			config := rest.CopyConfig(l.config)
			config.Timeout = cmp.Or(config.Timeout, scaleTimeout)
			var err error
			if lookup, err = clientgo.NewLookup(config); err != nil {
				return err
			}
		}
		answer, err := purekube.Answer{}, late[need.APIVersion]
		if err == nil {
			answer, err = lookup.Lookup(ctx, need)
		}
		if utilnet.IsTimeout(err) || apierrors.IsTimeout(err) {
			late[need.APIVersion] = err
		}
		if apierrors.IsUnauthorized(err) {
			return fmt.Errorf("scale of %s: %w", need.Kind, err)
		}
		if err = errors.Join(err, answer.Err); err != nil {
			c.Notes = append(c.Notes, manifests.Note{Text: fmt.Sprintf("the scale of %s is not known: %v",
				strings.TrimSpace(need.Kind+" "+need.Namespace+"/"+need.Name), err)})
			continue
		}
		scale, found := answer.Object.(*autoscalingv1.Scale)
		if !found {
			continue // there is no such controller
		}
		replicas := scale.Spec.Replicas
		c.CustomWorkloads = append(c.CustomWorkloads, &manifests.CustomWorkload{
			TypeMeta: metav1.TypeMeta{APIVersion: need.APIVersion, Kind: need.Kind}, ObjectMeta: scale.ObjectMeta,
			Replicas: &replicas,
		})
	}
	return nil
}

// scales are the scales to look up. Namespaces take turns, so that one does not use up what is for all.
func (l *liveReader) scales(c *cluster) []purekube.Need {
	index := disruption.NewIndex(c.Disruption(metav1.Now().Time), disruption.Options{})
	asked := map[purekube.Need]bool{}
	of := map[string]int{}
	var turns [][]purekube.Need // one of each namespace that has so many
	for _, pod := range c.Pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			continue
		}
		need := index.WorkloadOf(pod.Namespace, owner).Need
		if need == nil || need.Subresource != "scale" || asked[*need] {
			continue
		}
		asked[*need] = true
		turn := of[need.Namespace]
		of[need.Namespace]++
		if turn == l.maxScales {
			c.Notes = append(c.Notes,
				manifests.Note{Text: fmt.Sprintf("only %d scales of namespace %s are looked up: the others are not known",
					l.maxScales, need.Namespace)})
		}
		if turn >= l.maxScales {
			continue
		}
		if turn == len(turns) {
			turns = append(turns, nil)
		}
		turns[turn] = append(turns[turn], *need)
	}
	needs := slices.Concat(turns...)
	if len(needs) > l.maxAllScales {
		needs = needs[:l.maxAllScales]
		c.Notes = append(c.Notes,
			manifests.Note{Text: fmt.Sprintf("only %d scales are looked up: the others are not known", l.maxAllScales)})
	}
	return needs
}
