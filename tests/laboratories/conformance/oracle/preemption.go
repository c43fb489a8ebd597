package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"mooring.dev/conformance/fwk"
)

// draws is how often the best candidate is picked: the last choice follows Go's random map order, and each of the
// equally good ones has a chance of at least 1/16.
const draws = 250

// preempted is what DefaultPreemption would do. Nothing is done: no pod is deleted.
type preempted struct {
	Candidates map[string]victims `json:"candidates"`
	Best       []string           `json:"best"`
}

type victims struct {
	Pods       []string `json:"pods"`
	Violations int64    `json:"violations"`
}

// postFilter returns what the PostFilter plugins say of a pod that no node takes, as the framework joins it.
func (d *decision) postFilter(diagnosis *framework.Diagnosis) string {
	var reasons []string
	for _, entry := range d.host.enabled.PostFilter.Enabled {
		plugin := d.host.plugins[entry.Name]
		if preemptor, ok := plugin.(*defaultpreemption.DefaultPreemption); ok && d.preempt(preemptor, diagnosis.NodeToStatus) {
			return ""
		}
		_, s := plugin.(fwk.PostFilterPlugin).PostFilter(d.ctx, d.state, d.pod, diagnosis.NodeToStatus)
		if s.IsSuccess() {
			return ""
		}
		if s.Code() != fwk.Unschedulable {
			return s.Message()
		}
		reasons = append(reasons, s.Reasons()...)
	}
	return strings.Join(reasons, ", ")
}

// preempt records every candidate and says whether there is one. The plugin itself would delete the best one's victims.
func (d *decision) preempt(plugin *defaultpreemption.DefaultPreemption, found *framework.NodeToStatus) bool {
	if err := d.host.SharedInformerFactory().Core().V1().Pods().Informer().GetIndexer().Add(d.pod); err != nil {
		panic(err)
	}
	if ok, _ := plugin.PodEligibleToPreemptOthers(d.ctx, d.pod, found.Get(d.pod.Status.NominatedNodeName)); !ok {
		return false
	}
	potential, err := found.NodesForStatusCode(d.host.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		panic(err)
	}
	if len(potential) == 0 {
		return false
	}
	budgets, err := plugin.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		panic(err)
	}
	every := int32(len(potential)) + 1
	candidates, _, _ := plugin.Evaluator.DryRunPreemption(d.ctx, d.state, d.pod, potential, budgets, 0, every)
	if len(candidates) == 0 {
		return false
	}
	d.doc.Preemption = &preempted{Candidates: map[string]victims{}, Best: d.best(plugin.Evaluator, candidates)}
	for _, candidate := range candidates {
		d.doc.Preemption.Candidates[candidate.Name()] = victims{
			Pods: d.keys(candidate.Victims().Pods), Violations: candidate.Victims().NumPDBViolations,
		}
	}
	return true
}

func (d *decision) best(evaluator *preemption.Evaluator, candidates []preemption.Candidate) []string {
	picked := sets.New[string]()
	for range draws {
		picked.Insert(evaluator.SelectCandidate(d.ctx, candidates).Name())
	}
	return sets.List(picked)
}

// keys names the pods in their order; those that go as one are in none, and are sorted.
func (d *decision) keys(pods []*v1.Pod) []string {
	var found []string
	first := 0
	for at, pod := range pods {
		key := pod.Namespace + "/" + pod.Name
		if at > 0 && d.together[key] != "" && d.together[key] != d.together[found[at-1]] {
			first = at
		}
		found = append(found, key)
		if d.together[key] != "" {
			slices.Sort(found[first:])
		}
	}
	return found
}

// goingTogether has the group of each pod that is preempted as one with its group. Pods and groups are named with their
// namespace.
func goingTogether(objects []json.RawMessage) map[string]string {
	type named struct{ Namespace, Name string }
	whole, groups := map[string]bool{}, map[string]string{}
	for _, raw := range objects {
		var object struct {
			Kind     string
			Metadata named
			Spec     struct {
				DisruptionMode  struct{ All *struct{} }
				SchedulingGroup struct{ PodGroupName string }
			}
		}
		if json.Unmarshal(raw, &object) != nil {
			continue
		}
		namespace := cmp.Or(object.Metadata.Namespace, v1.NamespaceDefault) + "/"
		if object.Kind == "PodGroup" && object.Spec.DisruptionMode.All != nil {
			whole[namespace+object.Metadata.Name] = true
		}
		if group := object.Spec.SchedulingGroup.PodGroupName; group != "" {
			groups[namespace+object.Metadata.Name] = namespace + group
		}
	}
	maps.DeleteFunc(groups, func(_, group string) bool { return !whole[group] })
	return groups
}
