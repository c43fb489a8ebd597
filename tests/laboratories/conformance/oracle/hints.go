package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"mooring.dev/conformance/fwk"
)

// rawChange is an object before and after; one of the two may be null.
type rawChange struct {
	Old json.RawMessage `json:"old"`
	New json.RawMessage `json:"new"`
}

// hinted says which events a change is, and what the plugins that registered for one of them make of it for the pod.
// Error is set alone, for a change that can't have happened.
type hinted struct {
	Events []string          `json:"events"`
	Hints  map[string]string `json:"hints"`
	Error  string            `json:"error,omitempty"`
}

// permitted is what GangScheduling says of the pod once it has a node.
type permitted struct {
	status
	Seconds float64 `json:"seconds"`
}

// hintAnswer has the registered events of each plugin of the profile, and an entry for each change.
type hintAnswer struct {
	Permit     *permitted          `json:"permit,omitempty"`
	Registered map[string][]string `json:"registered"`
	Changes    []*hinted           `json:"changes"`
}

func askHints(s *scenario) (*hintAnswer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, err := loadConfig(s.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	profile, err := pickProfile(cfg, s.Profile, s.pod)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, s)
	if err != nil {
		return nil, err
	}
	host, err := newPluginHost(ctx, c, profile, s.pods)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", profile.SchedulerName, err)
	}
	fwk.LearnDeviceClasses(host.SharedDRAManager(), s.objects)
	registered, err := registrations(ctx, host)
	if err != nil {
		return nil, err
	}
	// Plugins look up pods by what these name.
	if err := c.list(s.pod); err != nil {
		return nil, err
	}
	answer := &hintAnswer{Registered: map[string][]string{}, Changes: []*hinted{}}
	for plugin, events := range registered {
		for _, event := range events {
			answer.Registered[plugin] = append(answer.Registered[plugin], eventName(event.Event))
		}
	}
	if answer.Permit, err = permit(ctx, c, host, s.pod); err != nil {
		return nil, err
	}
	for _, change := range s.Changes {
		answer.Changes = append(answer.Changes, hintsFor(klog.FromContext(ctx), s.pod, change, registered))
	}
	return answer, nil
}

// permit puts the pod on the first node and asks; nil without a gang plugin or without nodes.
func permit(ctx context.Context, c *cluster, host *pluginHost, pod *v1.Pod) (*permitted, error) {
	plugin, ok := host.plugins["GangScheduling"].(fwk.PermitPlugin)
	nodes, err := c.nodes()
	if !ok || err != nil || len(nodes) == 0 {
		return nil, err
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = nodes[0].Node().Name
	if err := c.cache.AssumePod(klog.FromContext(ctx), placed); err != nil {
		return nil, err
	}
	said, wait := plugin.Permit(ctx, framework.NewCycleState(), placed, placed.Spec.NodeName)
	return &permitted{status: toStatus(said), Seconds: wait.Seconds()}, nil
}

// registrations leaves out plugins without events of their own.
func registrations(ctx context.Context, host *pluginHost) (map[string][]fwk.ClusterEventWithHint, error) {
	found := map[string][]fwk.ClusterEventWithHint{}
	for _, plugin := range host.EnqueueExtensions() {
		if _, own := host.plugins[plugin.Name()].(fwk.EnqueueExtensions); !own {
			continue
		}
		events, err := plugin.EventsToRegister(ctx)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", plugin.Name(), err)
		}
		found[plugin.Name()] = events
	}
	return found, nil
}

func hintsFor(
	logger klog.Logger, pod *v1.Pod, change rawChange, registered map[string][]fwk.ClusterEventWithHint,
) *hinted {
	oldObj, err := parseSide(change.Old)
	if err != nil {
		return &hinted{Error: fmt.Sprintf("old: %v", err)}
	}
	newObj, err := parseSide(change.New)
	if err != nil {
		return &hinted{Error: fmt.Sprintf("new: %v", err)}
	}
	own := false
	if updated, ok := newObj.(*v1.Pod); ok && updated.UID == pod.UID {
		// The queue has the new pod by the time it asks.
		pod, own = updated, true
	}
	result := &hinted{Events: []string{}, Hints: map[string]string{}}
	for _, event := range eventsOf(oldObj, newObj) {
		name := eventName(event)
		if slices.Contains(result.Events, name) {
			continue
		}
		result.Events = append(result.Events, name)
		if !own && fwk.ConcernsOneAlone(event) {
			continue
		}
		for plugin, entries := range registered {
			for _, entry := range entries {
				if fwk.Matches(entry.Event, event) {
					result.Hints[plugin+" "+name] = ask(logger, entry, pod, oldObj, newObj)
				}
			}
		}
	}
	return result
}

// parseSide gives a nil interface for an absent object, as the event handlers do.
func parseSide(raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	return parseObject(raw)
}

// ask goes by the queue's rules: without a function, and after an error, the pod is queued.
func ask(logger klog.Logger, entry fwk.ClusterEventWithHint, pod *v1.Pod, oldObj, newObj any) string {
	if fwk.PassesOver(logger, entry, pod, oldObj, newObj) {
		return "QueueSkip"
	}
	if entry.QueueingHintFn == nil {
		return fwk.Queue.String()
	}
	hint, err := entry.QueueingHintFn(logger, pod, oldObj, newObj)
	if err != nil {
		hint = fwk.Queue
	}
	return hint.String()
}

// eventsOf is what the event handlers tell the queue of: pods and nodes by what changed, other kinds by the change alone.
func eventsOf(oldObj, newObj any) []fwk.ClusterEvent {
	object := newObj
	if object == nil {
		object = oldObj
	}
	action := fwk.Update
	switch {
	case oldObj == nil:
		action = fwk.Add
	case newObj == nil:
		action = fwk.Delete
	}
	switch typed := object.(type) {
	case *v1.Pod:
		return podEvents(typed, oldObj, newObj, action)
	case *v1.Node:
		if action == fwk.Update {
			return framework.NodeSchedulingPropertiesChange(typed, oldObj.(*v1.Node))
		}
		return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: action}}
	default:
		kinds, _, err := legacyscheme.Scheme.ObjectKinds(typed.(runtime.Object))
		if err != nil {
			panic(err)
		}
		resource, known := fwk.Resources[kinds[0].Kind]
		if !known {
			return nil
		}
		return []fwk.ClusterEvent{{Resource: resource, ActionType: action}}
	}
}

// podEvents tells of a waiting pod's arrival only to gangs, and of its end only if it was nominated for a node.
func podEvents(pod *v1.Pod, oldObj, newObj any, action fwk.ActionType) []fwk.ClusterEvent {
	assigned := pod.Spec.NodeName != ""
	switch {
	case action == fwk.Update:
		return fwk.PodChanges(newObj.(*v1.Pod), oldObj.(*v1.Pod))
	case action == fwk.Add && assigned:
		return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
	case action == fwk.Add && fwk.GangScheduling():
		return []fwk.ClusterEvent{framework.EventUnscheduledPodAdd}
	case action == fwk.Delete && (assigned || pod.Status.NominatedNodeName != ""):
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
	}
	return nil
}

// eventName is the kind and its actions. All kinds of updates together, and one without a name, are an "Update".
func eventName(event fwk.ClusterEvent) string {
	actions, rest := []string{}, event.ActionType
	if rest&fwk.Update == fwk.Update {
		actions, rest = append(actions, "Update"), rest&^fwk.Update
	}
	for bit := fwk.Add; bit <= rest; bit <<= 1 {
		if rest&bit != 0 {
			actions = append(actions, bit.String())
		}
	}
	slices.Sort(actions)
	kind := string(event.Resource)
	return kind[strings.LastIndex(kind, "/")+1:] + " " + strings.Join(actions, "|")
}
