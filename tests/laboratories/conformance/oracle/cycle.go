package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"mooring.dev/conformance/fwk"
)

// decision is one pod's way through the extension points up to the scores, in kube-scheduler's order and by its rules,
// with every node looked at, unless the pod's nominated node does.
type decision struct {
	ctx   context.Context
	host  *pluginHost
	pod   *v1.Pod
	state *framework.CycleState
	nodes []fwk.NodeInfo
	doc   *document
	// together has the group of each pod that is preempted as one with it.
	together map[string]string
}

func decide(s *scenario) (*document, error) {
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
	nodes, err := c.nodes()
	if err != nil {
		return nil, err
	}
	d := &decision{
		ctx: ctx, host: host, pod: s.pod, state: framework.NewCycleState(), nodes: nodes, together: goingTogether(s.Objects),
		doc: &document{
			Pod: s.pod.Namespace + "/" + s.pod.Name, Profile: profile.SchedulerName, Status: topStatus{status: success()},
			PreFilter: map[string]preFilter{}, Nodes: map[string]*nodeVerdict{}, Ties: []string{},
		},
	}
	d.run(s.AlwaysScore)
	return d.doc, nil
}

func (d *decision) run(alwaysScore bool) {
	if gate := d.preEnqueue(); gate != nil {
		d.reject(gate, gate.Message())
		return
	}
	if len(d.nodes) == 0 {
		message := "no nodes available to schedule pods"
		d.reject(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message), message)
		return
	}
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	result, plugins, ok := d.preFilter(&diagnosis)
	if !ok {
		return
	}
	if d.nominatedNodeFits(&diagnosis, plugins) {
		return
	}
	feasible, ok := d.filter(d.candidates(result, plugins, &diagnosis), &diagnosis)
	if !ok {
		return
	}
	d.doc.Feasible = len(feasible)
	switch {
	case len(feasible) == 0:
		d.reject(fwk.NewStatus(fwk.Unschedulable), d.fitError(diagnosis))
	case len(feasible) == 1 && !alwaysScore:
		d.doc.Ties = []string{feasible[0].Node().Name}
	default:
		d.score(feasible)
	}
}

func (d *decision) reject(s *fwk.Status, message string) {
	d.doc.Status = topStatus{status: toStatus(s), Message: message}
}

// fitError is the sentence about a pod that no node takes, to which PostFilter adds.
func (d *decision) fitError(diagnosis framework.Diagnosis) string {
	diagnosis.PostFilterMsg = d.postFilter(&diagnosis)
	return (&framework.FitError{Pod: d.pod, NumAllNodes: len(d.nodes), Diagnosis: diagnosis}).Error()
}

func (d *decision) preEnqueue() *fwk.Status {
	for _, plugin := range d.host.PreEnqueuePlugins() {
		if s := plugin.PreEnqueue(d.ctx, d.pod); !s.IsSuccess() {
			s.SetPlugin(plugin.Name())
			return s
		}
	}
	return nil
}

// preFilter returns which nodes are left to filter, and who says so; false if the pod is decided.
func (d *decision) preFilter(diagnosis *framework.Diagnosis) (*fwk.PreFilterResult, sets.Set[string], bool) {
	d.explainPreFilter()
	result, s, plugins := d.host.RunPreFilterPlugins(d.ctx, d.state, d.pod)
	if !s.IsSuccess() {
		for _, node := range d.nodes {
			d.doc.Nodes[node.Node().Name] = &nodeVerdict{Status: toStatus(s), Scores: map[string]pluginScore{}}
		}
		message := s.Message()
		if s.IsRejected() {
			diagnosis.PreFilterMsg = message
			diagnosis.NodeToStatus.SetAbsentNodesStatus(s)
			message = d.fitError(*diagnosis)
		}
		d.reject(s, message)
		return nil, nil, false
	}
	return result, plugins, true
}

// nominatedNodeFits decides the pod if the node that was nominated for it does. The other nodes are then left out of
// the document, as nobody looked at them. A refusal stays in the diagnosis, even of a node that PreFilter left out, and
// schedulePod then counts who refused among the plugins that left out nodes: both are the same set there.
func (d *decision) nominatedNodeFits(diagnosis *framework.Diagnosis, plugins sets.Set[string]) bool {
	name := d.pod.Status.NominatedNodeName
	i := slices.IndexFunc(d.nodes, func(node fwk.NodeInfo) bool { return node.Node().Name == name })
	if i < 0 {
		return false
	}
	s := d.host.RunFilterPluginsWithNominatedPods(d.ctx, d.state, d.pod, d.nodes[i])
	if s.IsRejected() {
		diagnosis.NodeToStatus.Set(name, s)
		if plugins != nil {
			plugins.Insert(s.Plugin())
		}
	}
	if !s.IsSuccess() {
		return false
	}
	d.doc.Nodes[name] = &nodeVerdict{Status: success(), Scores: map[string]pluginScore{}}
	d.doc.Evaluated, d.doc.Feasible, d.doc.Ties = 1, 1, []string{name}
	return true
}

// candidates are the nodes that PreFilter left.
func (d *decision) candidates(result *fwk.PreFilterResult, plugins sets.Set[string], diagnosis *framework.Diagnosis) []fwk.NodeInfo {
	if result.AllNodes() {
		return d.nodes
	}
	absent := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins)))
	diagnosis.NodeToStatus.SetAbsentNodesStatus(absent)
	var candidates []fwk.NodeInfo
	for _, node := range d.nodes {
		if result.NodeNames.Has(node.Node().Name) {
			candidates = append(candidates, node)
		} else {
			verdict := diagnosis.NodeToStatus.Get(node.Node().Name)
			d.doc.Nodes[node.Node().Name] = &nodeVerdict{Status: toStatus(verdict), Scores: map[string]pluginScore{}}
		}
	}
	return candidates
}

// explainPreFilter asks each plugin by itself, on a state of its own, as the framework only returns what they say together.
func (d *decision) explainPreFilter() {
	state := framework.NewCycleState()
	for _, entry := range d.host.enabled.PreFilter.Enabled {
		result, s := fwk.PreFilter(d.ctx, d.host.plugins[entry.Name].(fwk.PreFilterPlugin), state, d.pod, d.nodes)
		if s.IsSkip() {
			continue
		}
		said := preFilter{Code: s.Code().String(), Reasons: toStatus(s).Reasons}
		if !result.AllNodes() {
			said.Nodes = sets.List(result.NodeNames)
		}
		d.doc.PreFilter[entry.Name] = said
		if !s.IsSuccess() && s.Code() != fwk.Unschedulable {
			return
		}
	}
}

// filter returns the feasible nodes; false if the pod is decided.
func (d *decision) filter(candidates []fwk.NodeInfo, diagnosis *framework.Diagnosis) ([]fwk.NodeInfo, bool) {
	var feasible []fwk.NodeInfo
	var failure *fwk.Status
	for _, node := range candidates {
		name := node.Node().Name
		s := d.host.RunFilterPluginsWithNominatedPods(d.ctx, d.state, d.pod, node)
		d.doc.Nodes[name] = &nodeVerdict{Status: toStatus(s), Scores: map[string]pluginScore{}}
		switch {
		case s.IsSuccess():
			feasible = append(feasible, node)
		case s.IsRejected():
			diagnosis.NodeToStatus.Set(name, s)
		case failure == nil:
			failure = s
		}
	}
	// As SchedulePod counts them: a nominated node that PreFilter left out, and that Filter refused, among them.
	d.doc.Evaluated = len(feasible) + diagnosis.NodeToStatus.Len()
	if failure != nil {
		d.reject(failure, failure.Message())
	}
	return feasible, failure == nil
}

func (d *decision) score(feasible []fwk.NodeInfo) {
	if !d.host.HasScorePlugins() {
		for _, node := range feasible {
			d.setTotal(node.Node().Name, 1)
		}
		return
	}
	if s := d.host.RunPreScorePlugins(d.ctx, d.state, d.pod, feasible); !s.IsSuccess() {
		d.reject(s, s.Message())
		return
	}
	totals, s := d.host.RunScorePlugins(d.ctx, d.state, d.pod, feasible)
	if !s.IsSuccess() {
		d.reject(s, s.Message())
		return
	}
	for _, entry := range d.host.enabled.Score.Enabled {
		if !fwk.SkippedScores(d.state).Has(entry.Name) {
			d.explainScore(d.host.plugins[entry.Name].(fwk.ScorePlugin), int64(entry.Weight), feasible)
		}
	}
	for _, node := range totals {
		d.setTotal(node.Name, node.TotalScore)
		sum := int64(0)
		for _, score := range d.doc.Nodes[node.Name].Scores {
			sum += score.Weighted
		}
		if sum != node.TotalScore {
			panic(fmt.Sprintf("node %s: the explained scores sum to %d, the framework's total is %d", node.Name, sum, node.TotalScore))
		}
	}
}

// explainScore takes one plugin through Score and NormalizeScore again, as the framework only returns weighted scores.
func (d *decision) explainScore(plugin fwk.ScorePlugin, weight int64, feasible []fwk.NodeInfo) {
	raw := make(fwk.NodeScoreList, len(feasible))
	for i, node := range feasible {
		value, s := plugin.Score(d.ctx, d.state, d.pod, node)
		if !s.IsSuccess() {
			panic(fmt.Sprintf("%s scored %s before, and now says %s", plugin.Name(), node.Node().Name, s.Message()))
		}
		raw[i] = fwk.NodeScore{Name: node.Node().Name, Score: value}
	}
	normalized := slices.Clone(raw)
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		if s := extensions.NormalizeScore(d.ctx, d.state, d.pod, normalized); !s.IsSuccess() {
			panic(fmt.Sprintf("%s normalised before, and now says %s", plugin.Name(), s.Message()))
		}
	}
	for i := range raw {
		d.doc.Nodes[raw[i].Name].Scores[plugin.Name()] = pluginScore{
			Raw: raw[i].Score, Normalized: normalized[i].Score, Weight: weight, Weighted: normalized[i].Score * weight,
		}
	}
}

// setTotal records a node's total and keeps the set of nodes that share the highest one.
func (d *decision) setTotal(name string, total int64) {
	best := int64(-1)
	if len(d.doc.Ties) > 0 {
		best = *d.doc.Nodes[d.doc.Ties[0]].Total
	}
	d.doc.Nodes[name].Total = &total
	if total > best {
		d.doc.Ties = d.doc.Ties[:0]
	}
	if total >= best {
		d.doc.Ties = append(d.doc.Ties, name)
	}
}
