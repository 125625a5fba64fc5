package main

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/purekube/purekube/manifests"
)

func registerWatch(inv *invocation, flags *pflag.FlagSet) {
	flags.BoolVarP(&inv.watch, "watch", "w", false, "go on reading the cluster, and print what changes in the answer")
}

// settle is how long changes are gathered before the cluster is asked about again.
const settle = 2 * time.Second

// follow answers, and answers again whenever the cluster has changed. It ends when the cluster cannot be read.
func (inv *invocation) follow(sys system) int {
	ctx := context.Background()
	p := sys.progress()
	l, err := inv.newReader(sys.stdout, p.count)
	var before []string
	for err == nil {
		var f *follower
		began := sys.now()
		if f, err = l.follow(ctx, inv.reads()); err != nil {
			break
		}
		reading := sys.now().Sub(began)
		p.done()
		for err == nil {
			began := sys.now()
			after := inv.answerAbout(f, sys)
			sayChanges(sys.stdout, sys.now(), before, after)
			before = after
			// A large cluster is asked about for a fourth of the time at most.
			err = f.wait(max(sys.settle, 3*sys.now().Sub(began)))
		}
		f.end()
		if errors.Is(err, errWatchEnded) { // as each watch does after some time, or at once through some proxies
			err = nil
			time.Sleep(max(sys.settle, 3*reading))
		}
	}
	sys.say(err)
	return exitInput
}

// answerAbout is the answer about the cluster of the moment, with what is wrong with it.
func (inv *invocation) answerAbout(f *follower, sys system) []string {
	var text bytes.Buffer
	asked := *inv
	asked.followed = f
	if asked.nowFrom == nowFromClock {
		asked.now = sys.now()
	}
	sys.stdout, sys.stderr, sys.watched = &text, &text, false
	asked.command.run(asked, sys)
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// sayChanges prints the lines that are gone and the new lines, in the order of the answers.
func sayChanges(w io.Writer, now time.Time, before, after []string) {
	if before == nil {
		fmt.Fprintln(w, strings.Join(after, "\n"))
		return
	}
	gone, added := without(before, after), without(after, before)
	if len(gone)+len(added) == 0 {
		return
	}
	fmt.Fprintln(w, now.UTC().Format(time.RFC3339))
	for _, line := range gone {
		fmt.Fprintln(w, "- "+line)
	}
	for _, line := range added {
		fmt.Fprintln(w, "+ "+line)
	}
}

// without are the lines that others lacks. A line that is there twice must be there twice.
func without(lines, others []string) (left []string) {
	count := map[string]int{}
	for _, line := range others {
		count[line]++
	}
	for _, line := range lines {
		if count[line]--; count[line] < 0 {
			left = append(left, line)
		}
	}
	return left
}

// follower has the lists of a cluster, and keeps them up to date.
type follower struct {
	l      *liveReader
	lists  zippedLists
	denied []problem
	// items are the objects of each kind, by resource.
	items  map[string]map[types.NamespacedName]stdjson.RawMessage
	events chan change
	end    context.CancelFunc
}

// change is an event of a watch, or its end.
type change struct {
	kind   schema.GroupKind
	Type   watch.EventType    `json:"type"`
	Object stdjson.RawMessage `json:"object"`
	err    error
}

// errWatchEnded is the error at the end of a watch. Its lists are read again.
var errWatchEnded = errors.New("the watch has ended")

// follow reads the kinds, and watches each kind that the account may list.
func (l *liveReader) follow(ctx context.Context, kinds []schema.GroupKind) (*follower, error) {
	lists, denied, err := l.lists(ctx, kinds)
	if err != nil {
		return nil, err
	}
	f := &follower{l: l, lists: lists, denied: denied, items: map[string]map[types.NamespacedName]stdjson.RawMessage{},
		events: make(chan change)}
	since := map[schema.GroupKind]string{}
	for _, kind := range kinds {
		resource := resourceOf(kind).Resource
		if lists[resource] == nil {
			continue
		}
		text, err := fs.ReadFile(lists, resource)
		if err != nil {
			return nil, err
		}
		var list listPage
		if err := stdjson.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		f.items[resource] = map[types.NamespacedName]stdjson.RawMessage{}
		for _, item := range *list.Items {
			f.items[resource][itemName(item)] = item
		}
		since[kind] = list.Metadata.ResourceVersion
	}
	ctx, f.end = context.WithCancel(ctx)
	for kind, version := range since {
		go f.watch(ctx, kind, version)
	}
	return f, nil
}

// itemName is the name of an object.
func itemName(object stdjson.RawMessage) types.NamespacedName {
	var o struct{ Metadata types.NamespacedName }
	_ = stdjson.Unmarshal(object, &o) // an object that is none has no name
	return o.Metadata
}

// watch sends what happens to the objects of the kind, until ctx ends.
func (f *follower) watch(ctx context.Context, kind schema.GroupKind, version string) {
	send := func(c change) {
		c.kind = kind
		select {
		case f.events <- c:
		case <-ctx.Done():
		}
	}
	stream, err := f.l.watches.Get().AbsPath(f.l.path(kind)).Param("watch", "true").Param("resourceVersion",
		version).Stream(ctx)
	if expired(err) {
		send(change{err: errWatchEnded})
		return
	}
	if err != nil {
		send(change{err: fmt.Errorf("watch of %s: %w", resourceOf(kind).Resource, err)})
		return
	}
	defer stream.Close()
	decoder := stdjson.NewDecoder(stream)
	for ctx.Err() == nil {
		var c change
		// An error is sent as an event too: that the version is too old, for one.
		if decoder.Decode(&c) != nil || c.Type == watch.Error {
			send(change{err: errWatchEnded})
			return
		}
		send(c)
	}
}

// wait returns when something has changed and for so long after it, with all that changed.
func (f *follower) wait(pause time.Duration) error {
	var settled <-chan time.Time
	changed := map[schema.GroupKind]bool{}
	for {
		select {
		case c := <-f.events:
			if c.err != nil {
				return c.err
			}
			items := f.items[resourceOf(c.kind).Resource]
			switch name := itemName(c.Object); c.Type {
			case watch.Deleted:
				delete(items, name)
			default:
				items[name] = c.Object
			}
			changed[c.kind] = true
			if settled == nil {
				settled = time.After(pause)
			}
		case <-settled:
			for kind := range changed {
				f.write(kind)
			}
			return nil
		}
	}
}

// write writes the list of the kind again.
func (f *follower) write(kind schema.GroupKind) {
	resource := resourceOf(kind)
	items := f.items[resource.Resource]
	list := newListWriter(kind, resource, "")
	for _, name := range slices.SortedFunc(maps.Keys(items), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		list.add(items[name])
	}
	f.lists[resource.Resource] = list.end()
}

// cluster is the cluster of the moment.
func (f *follower) cluster(ctx context.Context, o manifests.Options) (*cluster, error) {
	return f.l.load(ctx, f.lists, f.denied, o)
}
