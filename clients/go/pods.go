package mooring

import (
	"context"
	"fmt"
	"slices"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// Pod is the pod that a call is about: [JSON], [Object] or [Known].
type Pod struct {
	source *v1.PodSource
	err    error
}

// JSON is a pod as JSON, as the API server writes it.
func JSON(manifest []byte) Pod {
	return object(&v1.KubernetesObject{Encoding: &v1.KubernetesObject_Json{Json: manifest}})
}

// Object is a pod that encodes itself as protobuf, such as a *corev1.Pod of k8s.io/api.
func Object(pod interface{ Marshal() ([]byte, error) }) Pod {
	encoded, err := pod.Marshal()
	if err != nil {
		return Pod{err: fmt.Errorf("mooring: encode the pod: %w", err)}
	}
	return object(&v1.KubernetesObject{Encoding: &v1.KubernetesObject_Protobuf{Protobuf: encoded}})
}

// Known is a pod that the server knows already. Its UID may be empty for a question; a commit needs it.
func Known(pod Reference) Pod {
	return Pod{source: &v1.PodSource{Source: &v1.PodSource_Reference{Reference: pod.message()}}}
}

func object(encoded *v1.KubernetesObject) Pod {
	return Pod{source: &v1.PodSource{Source: &v1.PodSource_Object{Object: encoded}}}
}

// Reference names a pod.
type Reference struct{ Namespace, Name, UID string }

func (r Reference) message() *v1.PodReference {
	return &v1.PodReference{Namespace: r.Namespace, Name: r.Name, Uid: r.UID}
}

func referenceOf(pod *v1.PodReference) Reference {
	return Reference{pod.GetNamespace(), pod.GetName(), pod.GetUid()}
}

// Pods are pods that are alike.
type Pods struct {
	// Template is one of them; it is sent and decoded once for all.
	Template Pod
	// UIDs are theirs, all distinct. None, in all groups, is one pod of each template.
	UIDs []string
	// Names are theirs, one for each UID. None is the template's for all.
	Names []string
}

// Batch is pods to be placed in one call, in order: each sees the earlier ones on their nodes.
type Batch struct {
	Pods []Pods
	// Mode is what to do with the selected nodes; default a dry run.
	Mode v1.CommitMode
	// Among has the names of the nodes to choose from; default all.
	Among []string
	// Session is the id of a session in which the pods are placed; default the live cluster.
	Session string
	// Profile is by default the one that the pods' schedulerName names, or the only one.
	Profile string
	// Seed decides between nodes of equal totals.
	Seed uint64
}

// Scheduled is the answer to a batch.
type Scheduled struct {
	// Placements has one per pod, in the order of the batch.
	Placements []Placement
	// Provenance tells the state and the configuration that were used.
	Provenance *v1.Provenance
	Warnings   []string
}

// Placement is the answer for one pod of a batch.
type Placement struct {
	UID string
	// Node is the selected one; empty if there is none. Without success it was selected, too, and the commit failed.
	Node string
	// Total is the node's score; 0 if only one node was feasible.
	Total int64
	// Verdict is success for a pod that has its node, and pending for one that the call had no time for.
	Verdict *v1.Verdict
	// TieCount, Evaluated and Feasible count nodes: with the same total, looked at, and without a rejection.
	TieCount, Evaluated, Feasible uint32
	// Outcome is that of the commit.
	Outcome v1.CommitOutcome
}

// OK tells whether the pod has its node.
func (p Placement) OK() bool { return p.Verdict.GetCode() == v1.VerdictCode_VERDICT_CODE_SUCCESS }

// Schedule decides about the pods of a batch, and with a mode reserves or binds them.
func (c *Client) Schedule(ctx context.Context, batch Batch) (*Scheduled, error) {
	request := &v1.ScheduleRequest{
		CommitMode: batch.Mode, Session: batch.Session, Profile: batch.Profile, Seed: batch.Seed,
	}
	uids, err := batch.fill(request)
	if err != nil {
		return nil, err
	}
	request.Nodes = byName(batch.Among)
	answer, err := c.scheduling.Schedule(ctx, request)
	if err != nil {
		return nil, err
	}
	placements, err := placementsOf(uids, answer)
	return &Scheduled{placements, answer.Provenance, answer.Warnings}, err
}

// fill puts templates and columns into the request, and returns the UIDs in order.
func (b Batch) fill(request *v1.ScheduleRequest) ([]string, error) {
	columns := &v1.PodColumns{}
	several := slices.ContainsFunc(b.Pods, func(pods Pods) bool { return len(pods.UIDs) > 0 })
	named := slices.ContainsFunc(b.Pods, func(pods Pods) bool { return len(pods.Names) > 0 })
	for i, pods := range b.Pods {
		if pods.Template.err != nil {
			return nil, pods.Template.err
		}
		if several != (len(pods.UIDs) > 0) {
			return nil, fmt.Errorf("mooring: group %d has no UIDs, but others have", i)
		}
		if named && len(pods.Names) != len(pods.UIDs) {
			return nil, fmt.Errorf("mooring: group %d has %d names for %d UIDs", i, len(pods.Names), len(pods.UIDs))
		}
		request.Templates = append(request.Templates, &v1.PodTemplate{Pod: pods.Template.source})
		columns.Uids = append(columns.Uids, pods.UIDs...)
		columns.Names = append(columns.Names, pods.Names...)
		columns.TemplateIndices = append(columns.TemplateIndices, slices.Repeat([]uint32{uint32(i)}, len(pods.UIDs))...)
	}
	if !several {
		return make([]string, len(b.Pods)), nil // Each template is one pod.
	}
	request.Pods = columns
	return columns.Uids, nil
}

func placementsOf(uids []string, answer *v1.ScheduleResponse) ([]Placement, error) {
	names := answer.GetNodes().GetNames().GetNames()
	verdicts := answer.PodVerdicts
	if len(names) != len(uids) || len(verdicts) != len(uids) {
		return nil, fmt.Errorf("mooring: %d nodes and %d verdicts for %d pods", len(names), len(verdicts), len(uids))
	}
	placements := make([]Placement, len(uids))
	for i, uid := range uids {
		if int(verdicts[i]) >= len(answer.Verdicts) {
			return nil, fmt.Errorf("mooring: pod %d has verdict %d of %d", i, verdicts[i], len(answer.Verdicts))
		}
		placements[i] = Placement{
			UID: uid, Node: names[i], Verdict: answer.Verdicts[verdicts[i]],
			Total: at(answer.Totals, i), TieCount: at(answer.TieCounts, i),
			Evaluated: at(answer.EvaluatedCounts, i), Feasible: at(answer.FeasibleCounts, i),
			Outcome: at(answer.Outcomes, i),
		}
	}
	return placements, nil
}

// at is an entry of a column, zero in one that the server left out.
func at[T any](column []T, i int) (value T) {
	if i < len(column) {
		value = column[i]
	}
	return value
}
