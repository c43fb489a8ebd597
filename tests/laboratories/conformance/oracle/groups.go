//go:build !v1_34 && !v1_35 && !v1_36

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	kubefwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"mooring.dev/conformance/fwk"
)

// groupDecided is what became of the group that was popped after a round; nothing but empty fields where none was.
// Attempts are the search for a place, and the one that PodGroupPostFilter made without those who could go.
type groupDecided struct {
	Group     string          `json:"group"`
	Order     []string        `json:"order"`
	Attempts  []*attempt      `json:"attempts"`
	Pods      []*memberResult `json:"pods"`
	Condition *condition      `json:"condition"`
	Room      *said           `json:"room"`
	Victims   []string        `json:"victims"`
	// Claims are those that were written, as they are now.
	Claims map[string]*resourcev1.ResourceClaim `json:"claims,omitempty"`
}

// attempt is one run of the algorithm over all placements. Best is the name of the one that was taken among several.
type attempt struct {
	Generated *said            `json:"generated"`
	Tried     []*tried         `json:"tried"`
	Scored    *said            `json:"scored"`
	Scores    []placementScore `json:"scores"`
	Best      string           `json:"best"`
	generated []*tried
	ranking   []kubefwk.PlacementPluginScores
}

// tried is one placement with what each pod got there, up to the last one that was tried; Said is what PlacementFeasible
// said last.
type tried struct {
	Name  string       `json:"name"`
	Nodes []string     `json:"nodes"`
	Pods  []*memberTry `json:"pods"`
	Said  *said        `json:"said"`
	// state is that of the placement, in releases that have one.
	state any
}

// memberTry is what a pod got in a placement. Nominated is the node on which PostFilter made room for it.
type memberTry struct {
	Name      string `json:"name"`
	Host      string `json:"host"`
	Feasible  int    `json:"feasible"`
	Message   string `json:"message"`
	Code      string `json:"code"`
	Nominated string `json:"nominated,omitempty"`
}

type placementScore struct {
	Name   string           `json:"name"`
	Total  int64            `json:"total"`
	Scores map[string]int64 `json:"scores"`
}

type said struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type memberResult struct {
	Name      string `json:"name"`
	Host      string `json:"host"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Nominated string `json:"nominated"`
	// Started is when the kubelet says that it started the pod: one second after the one before.
	Started string `json:"started,omitempty"`
}

type condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func sayOf(status *kubefwk.Status) *said {
	return &said{status.Code().String(), status.Message()}
}

// grouper runs a whole kube-scheduler, queue included, but for its informers.
type grouper struct {
	ctx     context.Context
	cluster *cluster
	// informers are the cluster's, of which the scheduler hears.
	informers *fwk.Telling
	sched     *scheduler.Scheduler
	mutex     sync.Mutex
	now       *groupDecided
	members   map[string]*v1.Pod
	left      sets.Set[string]
	placed    map[string]*v1.Pod
	versions  int
	started   int
}

func runGroups(s *scenario) ([]*groupDecided, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g, err := newGrouper(ctx, s)
	if err != nil {
		return nil, err
	}
	answers := make([]*groupDecided, len(s.Rounds))
	for i, round := range s.Rounds {
		if err := g.come(round); err != nil {
			return nil, fmt.Errorf("rounds[%d]: %w", i, err)
		}
		if answers[i], err = g.decide(); err != nil {
			return nil, fmt.Errorf("rounds[%d]: %w", i, err)
		}
	}
	return answers, nil
}

func newGrouper(ctx context.Context, s *scenario) (*grouper, error) {
	cfg, err := loadConfig(s.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	client := fake.NewSimpleClientset()
	g := &grouper{
		ctx:     ctx,
		cluster: &cluster{client: client, factory: informers.NewSharedInformerFactory(client, 0)},
		placed:  map[string]*v1.Pod{},
	}
	for _, object := range s.objects {
		if claim, is := object.(*resourcev1.ResourceClaim); is {
			// What is assumed of a claim is compared by version.
			claim.ResourceVersion = "1"
		}
		if err := g.cluster.list(object); err != nil {
			return nil, err
		}
	}
	g.serve(client)
	g.informers = fwk.Informers(g.cluster.factory)
	g.sched, err = scheduler.New(ctx, client, g.informers, nil,
		func(string) fwk.EventRecorder { return events.NewFakeRecorder(1000) },
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithParallelism(1),
	)
	if err != nil {
		return nil, err
	}
	g.listen()
	return g, g.fill(s)
}

// serve takes the place of the API server: it lets everything happen, and notes it.
func (g *grouper) serve(client *fake.Clientset) {
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		binding := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		g.note(func() { g.finish(&memberResult{Name: binding.Name, Host: binding.Target.Name}) })
		return true, nil, nil
	})
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		gone := action.(clienttesting.DeleteAction)
		g.note(func() { g.now.Victims = append(g.now.Victims, gone.GetNamespace()+"/"+gone.GetName()) })
		return true, nil, nil
	})
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		g.written(claim)
		return true, claim, nil
	})
	client.PrependReactor("patch", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return g.leave(action.(clienttesting.PatchAction))
	})
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
		var patch struct {
			Status struct {
				Conditions []condition `json:"conditions"`
			} `json:"status"`
		}
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		g.note(func() { g.now.Condition = &patch.Status.Conditions[0] })
		return true, nil, nil
	})
}

// leave takes a user out of a claim, which is all that patches of claims are for.
func (g *grouper) leave(action clienttesting.PatchAction) (bool, runtime.Object, error) {
	var patch struct {
		Status struct {
			ReservedFor []struct {
				UID types.UID `json:"uid"`
			} `json:"reservedFor"`
		} `json:"status"`
	}
	if err := json.Unmarshal(action.GetPatch(), &patch); err != nil {
		return true, nil, err
	}
	name := action.GetNamespace() + "/" + action.GetName()
	var claim *resourcev1.ResourceClaim
	g.note(func() { claim = g.now.Claims[name] })
	if claim == nil {
		known, there, err := g.cluster.factory.Resource().V1().ResourceClaims().Informer().GetIndexer().GetByKey(name)
		if err != nil || !there {
			return true, nil, fmt.Errorf("no claim %s: %w", name, err)
		}
		claim = known.(*resourcev1.ResourceClaim)
	}
	claim = claim.DeepCopy()
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(user resourcev1.ResourceClaimConsumerReference) bool {
		return user.UID == patch.Status.ReservedFor[0].UID
	})
	g.written(claim)
	return true, claim, nil
}

// written notes a claim as it is now.
func (g *grouper) written(claim *resourcev1.ResourceClaim) {
	g.note(func() {
		g.versions++
		claim.ResourceVersion = strconv.Itoa(1 + g.versions)
		claim.APIVersion, claim.Kind = "resource.k8s.io/v1", "ResourceClaim"
		g.now.Claims[claim.Namespace+"/"+claim.Name] = claim
	})
}

func (g *grouper) note(change func()) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	change()
}

func (g *grouper) finish(result *memberResult) {
	g.now.Pods = append(g.now.Pods, result)
	g.left.Delete(result.Name)
}

// listen notes what the scheduler finds and says.
func (g *grouper) listen() {
	for name, profile := range g.sched.Profiles {
		g.sched.Profiles[name] = watched{profile, g}
	}
	schedule, fail := g.sched.SchedulePod, g.sched.FailureHandler
	g.sched.SchedulePod = func(
		ctx context.Context, f framework.Framework, state fwk.CycleState, pod *framework.QueuedPodInfo,
	) (scheduler.ScheduleResult, error) {
		result, err := schedule(ctx, f, state, pod)
		try := &memberTry{Name: pod.Pod.Name, Host: result.SuggestedHost, Feasible: result.FeasibleNodes}
		if err != nil {
			try.Message, try.Code = err.Error(), codeOf(err)
		}
		last := g.trying(state)
		last.Pods = append(last.Pods, try)
		return result, err
	}
	g.sched.FailureHandler = func(
		ctx context.Context, f framework.Framework, pod *framework.QueuedPodInfo, s *kubefwk.Status,
		nominating *kubefwk.NominatingInfo, start time.Time,
	) {
		result := &memberResult{Name: pod.Pod.Name, Code: s.Code().String(), Message: s.Message()}
		result.Nominated = pod.Pod.Status.NominatedNodeName
		if nominating != nil && nominating.NominatingMode == kubefwk.ModeOverride {
			result.Nominated = nominating.NominatedNodeName
		}
		fail(ctx, f, pod, s, nominating, start)
		g.note(func() { g.finish(result) })
	}
}

func codeOf(err error) string {
	var fit *framework.FitError
	if errors.As(err, &fit) {
		return kubefwk.Unschedulable.String()
	}
	if errors.Is(err, scheduler.ErrNoNodesAvailable) {
		return kubefwk.UnschedulableAndUnresolvable.String()
	}
	return kubefwk.Error.String()
}

func newAttempt() *attempt {
	return &attempt{Tried: []*tried{}, Scores: []placementScore{}}
}

func (g *grouper) attempt() *attempt {
	return g.now.Attempts[len(g.now.Attempts)-1]
}

func (a *attempt) last() *tried {
	return a.Tried[len(a.Tried)-1]
}

// next is the placement that is tried now; without placements all nodes.
func (a *attempt) next() *tried {
	one := &tried{Nodes: []string{}, Pods: []*memberTry{}}
	if len(a.generated) > len(a.Tried) {
		one = a.generated[len(a.Tried)]
	}
	a.Tried = append(a.Tried, one)
	return one
}

// join notes a pod of the group that is decided.
func (g *grouper) join(pod *v1.Pod) {
	g.members[pod.Name] = pod
	if pod.DeletionTimestamp == nil {
		g.left.Insert(pod.Name)
	}
}

// fill brings the cluster into the scheduler's cache, the nodes in name order, as a list from the API server does. Pods that
// hold a nomination are in the queue, and not asked for.
func (g *grouper) fill(s *scenario) error {
	logger := klog.FromContext(g.ctx)
	slices.SortFunc(s.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range s.nodes {
		g.sched.Cache.AddNode(logger, node)
		if err := g.cluster.list(node); err != nil {
			return err
		}
	}
	for _, object := range s.objects {
		g.knowGroup(object)
	}
	for _, pod := range s.pods {
		if finished(pod) {
			continue
		}
		if err := g.cluster.list(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			g.placed[pod.Namespace+"/"+pod.Name] = pod
			if err := g.sched.Cache.AddPod(logger, pod); err != nil {
				return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			continue
		}
		if pod.Status.NominatedNodeName == "" {
			return fmt.Errorf("pod %s/%s: has neither node nor nomination", pod.Namespace, pod.Name)
		}
		if err := g.wait(pod); err != nil {
			return err
		}
	}
	return nil
}

// wait puts a pod into the queue as one that was tried before.
func (g *grouper) wait(pod *v1.Pod) error {
	logger, queue := klog.FromContext(g.ctx), g.sched.SchedulingQueue
	if pod.Spec.SchedulingGroup != nil {
		return fmt.Errorf("pod %s/%s: is of a group; let it come in a round", pod.Namespace, pod.Name)
	}
	queue.Add(g.ctx, pod)
	if len(queue.PodsInActiveQ()) == 0 {
		return nil
	}
	info, err := g.popPod(logger)
	if err != nil {
		return err
	}
	info.UnschedulablePlugins = sets.New("NodeResourcesFit")
	return g.giveBack(logger, info)
}

// come lets objects arrive, in their order.
func (g *grouper) come(round []json.RawMessage) error {
	for _, raw := range round {
		object, err := parseObject(raw)
		if err != nil {
			return err
		}
		if err := g.cluster.list(object); err != nil {
			return err
		}
		if pod, is := object.(*v1.Pod); is {
			g.sched.Cache.AddPodGroupMember(pod)
			g.sched.SchedulingQueue.Add(g.ctx, pod)
		} else if !g.knowGroup(object) {
			return fmt.Errorf("want a PodGroup or a Pod, got %T", object)
		}
	}
	return nil
}

// decide takes the next group, unless none is in the active queue, and waits until all is done about it.
func (g *grouper) decide() (*groupDecided, error) {
	g.now = &groupDecided{Order: []string{}, Attempts: []*attempt{newAttempt()}, Pods: []*memberResult{}, Victims: []string{}}
	g.now.Claims = map[string]*resourcev1.ResourceClaim{}
	if len(g.sched.SchedulingQueue.PodsInActiveQ()) == 0 {
		return g.now, nil
	}
	g.members, g.left = map[string]*v1.Pod{}, sets.New[string]()
	g.watchNext()
	g.sched.ScheduleOne(g.ctx)
	if g.now.Group == "" {
		return nil, errors.New("a pod without a group was popped")
	}
	for deadline := time.Now().Add(10 * time.Second); g.waiting(); time.Sleep(10 * time.Microsecond) {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("nothing became of pods %v", sets.List(g.left))
		}
	}
	slices.SortFunc(g.now.Pods, func(a, b *memberResult) int { return strings.Compare(a.Name, b.Name) })
	g.now.finish()
	g.now.order(slices.Sorted(maps.Keys(g.members)))
	return g.now, g.follow()
}

func (g *grouper) waiting() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return len(g.left) > 0
}

// follow makes the cluster what it is then: pods are on their nodes or nominated for them, and victims are gone.
func (g *grouper) follow() error {
	logger, queue := klog.FromContext(g.ctx), g.sched.SchedulingQueue
	pods := g.cluster.factory.Core().V1().Pods().Informer().GetIndexer()
	for _, result := range g.now.Pods {
		before := g.members[result.Name]
		after := before.DeepCopy()
		after.Spec.NodeName, after.Status.NominatedNodeName = result.Host, result.Nominated
		if result.Host != "" {
			g.started++
			started := metav1.NewTime(time.Date(2026, 1, 3, 0, 0, g.started, 0, time.UTC))
			after.Status.StartTime, result.Started = &started, started.Format(time.RFC3339)
		}
		if err := pods.Update(after); err != nil {
			return err
		}
		if result.Host != "" {
			g.placed[after.Namespace+"/"+after.Name] = after
			if err := g.sched.Cache.AddPod(logger, after); err != nil {
				return err
			}
		} else if result.Nominated != before.Status.NominatedNodeName {
			g.sched.Cache.UpdatePodGroupMember(logger, before, after)
			queue.Update(g.ctx, before, after)
		}
	}
	claims := g.informers.Resource().V1().ResourceClaims().Informer()
	for _, claim := range g.now.Claims {
		if err := g.informers.Update(claims, claim); err != nil {
			return err
		}
	}
	for _, name := range g.now.Victims {
		victim, there := g.placed[name]
		if !there {
			// Two pods of a group made the same one go.
			continue
		}
		if err := g.sched.Cache.RemovePod(logger, victim); err != nil {
			return err
		}
		if err := pods.Delete(victim); err != nil {
			return err
		}
		delete(g.placed, name)
	}
	return nil
}

// finish drops an attempt that was never made, and says which placement the others took: kube-scheduler has numbered those
// with the highest total at random by now.
func (d *groupDecided) finish() {
	d.Attempts = slices.DeleteFunc(d.Attempts, func(a *attempt) bool { return a.Generated == nil && len(a.Tried) == 0 })
	for _, a := range d.Attempts {
		for _, one := range a.ranking {
			score := placementScore{one.Placement.Name, one.TotalScore, map[string]int64{}}
			for _, by := range one.Scores {
				score.Scores[by.Name] = by.Score
			}
			a.Scores = append(a.Scores, score)
		}
		if len(a.ranking) > 0 {
			a.Best = slices.MaxFunc(a.ranking, func(a, b kubefwk.PlacementPluginScores) int {
				return cmp.Or(cmp.Compare(a.TotalScore, b.TotalScore), cmp.Compare(a.Randomizer, b.Randomizer))
			}).Placement.Name
		}
		slices.SortFunc(a.Scores, func(a, b placementScore) int { return strings.Compare(a.Name, b.Name) })
	}
}

// order says in which order the pods were tried, where the queue didn't; those that were not come last.
func (d *groupDecided) order(members []string) {
	for _, a := range d.Attempts {
		for _, one := range a.Tried {
			for _, pod := range one.Pods {
				if !slices.Contains(d.Order, pod.Name) {
					d.Order = append(d.Order, pod.Name)
				}
			}
		}
	}
	for _, name := range members {
		if !slices.Contains(d.Order, name) {
			d.Order = append(d.Order, name)
		}
	}
}

// watched notes what is asked of a profile about a group as a whole.
type watched struct {
	framework.Framework
	g *grouper
}

func (w watched) RunPlacementGeneratePlugins(
	ctx context.Context, state kubefwk.PodGroupCycleState, group kubefwk.PodGroupInfo, nodes []kubefwk.NodeInfo,
) ([]*kubefwk.Placement, *kubefwk.Status) {
	placements, status := w.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	a := w.g.attempt()
	a.Generated = sayOf(status)
	// They come in a random order, and are tried in this one.
	for _, placement := range placements {
		one := &tried{Name: placement.Name, Nodes: []string{}, Pods: []*memberTry{}}
		for _, node := range placement.Nodes {
			one.Nodes = append(one.Nodes, node.Node().Name)
		}
		a.generated = append(a.generated, one)
	}
	return placements, status
}
