package main

import (
	"context"
	"encoding/json"
	"strings"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

type object map[string]any

// command has the arguments of all calls.
type command struct {
	Call    string
	Timeout float64
	Pods    json.RawMessage
	Pod     json.RawMessage
	Node    string
	Among   []string
	Session string
	Profile string
	Mode    string
	Seed    uint64
	Labels  string
	From    string
	Put     []json.RawMessage
	Remove  []struct{ Kind, Namespace, Name string }
	Mark    uint32
	Updates int
	After   *uint64
	Parts   bool
}

var calls = map[string]func(context.Context, *mooring.Client, command) (any, error){
	"schedule":          schedule,
	"reserve":           reserve,
	"unreserve":         unreserve,
	"list_reservations": listReservations,
	"watch_nodes":       watchNodes,
	"watch_decisions":   watchDecisions,
	"filter":            filter,
	"score":             score,
	"explain":           explain,
	"bind":              bind,
	"list_nodes":        listNodes,
	"open_session":      openSession,
	"change_session":    changeSession,
	"mark_session":      markSession,
	"revert_session":    revertSession,
	"commit_session":    commitSession,
	"close_session":     closeSession,
	"capabilities":      capabilities,
}

func schedule(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	var groups []struct {
		Template json.RawMessage
		UIDs     []string
		Names    []string
	}
	if err := json.Unmarshal(asked.Pods, &groups); err != nil {
		return nil, err
	}
	batch := mooring.Batch{
		Mode: v1.CommitMode(v1.CommitMode_value["COMMIT_MODE_"+asked.Mode]), Among: asked.Among,
		Session: asked.Session, Profile: asked.Profile, Seed: asked.Seed,
	}
	for _, each := range groups {
		pods := mooring.Pods{Template: mooring.JSON(each.Template), UIDs: each.UIDs, Names: each.Names}
		batch.Pods = append(batch.Pods, pods)
	}
	answer, err := client.Schedule(ctx, batch)
	if err != nil {
		return nil, err
	}
	placed := []object{}
	for _, each := range answer.Placements {
		placed = append(placed, object{
			"uid": each.UID, "node": each.Node, "total": each.Total, "verdict": verdict(each.Verdict),
			"outcome": bare(each.Outcome.String(), "COMMIT_OUTCOME_"),
		})
	}
	return placed, nil
}

func reserve(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	answer, err := client.Reserve(ctx, asked.pod(), asked.Node, asked.Profile)
	return object{
		"verdict": verdict(answer.GetVerdict()), "outcome": bare(answer.GetOutcome().String(), "COMMIT_OUTCOME_"),
	}, err
}

func unreserve(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	var pods []mooring.Reference
	if err := json.Unmarshal(asked.Pods, &pods); err != nil {
		return nil, err
	}
	uids := make([]string, len(pods))
	for i, pod := range pods {
		uids[i] = pod.UID
	}
	answers, err := client.Unreserve(ctx, uids...)
	released := []string{}
	for _, each := range answers {
		if each.Released {
			released = append(released, each.Uid)
		}
	}
	return object{"released": released}, err
}

func listReservations(ctx context.Context, client *mooring.Client, _ command) (any, error) {
	answers, err := client.ListReservations(ctx)
	listed := []object{}
	for _, each := range answers {
		listed = append(listed, object{
			"namespace": each.Pod.GetNamespace(), "name": each.Pod.GetName(), "uid": each.Pod.GetUid(), "node": each.Node,
		})
	}
	return listed, err
}

func watchNodes(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	updates := []object{}
	for update, err := range client.WatchNodes(ctx) {
		if err != nil {
			return nil, err
		}
		updates = append(updates, object{
			"epoch": update.Epoch, "complete": update.Complete, "added": append([]string{}, update.Added...),
			"removed": append([]string{}, update.Removed...),
		})
		if len(updates) == asked.Updates {
			break
		}
	}
	return updates, nil
}

func watchDecisions(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	decisions := []object{}
	for response, err := range client.WatchDecisions(ctx, &v1.WatchDecisionsRequest{AfterSeq: asked.After}) {
		if err != nil {
			return nil, err
		}
		for _, each := range response.Decisions {
			pod := object{"namespace": each.Pod.GetNamespace(), "name": each.Pod.GetName(), "uid": each.Pod.GetUid()}
			decisions = append(decisions, object{"seq": each.Seq, "pod": pod, "node": each.Node})
		}
		if len(decisions) >= asked.Updates {
			break
		}
	}
	return decisions, nil
}

func filter(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	answer, err := client.Filter(ctx, asked.question())
	if err != nil {
		return nil, err
	}
	nodes := object{}
	for _, each := range answer.Nodes {
		nodes[each.Node] = verdict(each.Verdict)
	}
	return object{"verdict": verdict(answer.Verdict), "nodes": nodes}, nil
}

func score(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	answer, err := client.Score(ctx, asked.question())
	if err != nil {
		return nil, err
	}
	nodes := object{}
	for _, each := range answer.Nodes {
		nodes[each.Node] = each.Total
	}
	return object{"weight_sum": answer.WeightSum, "nodes": nodes}, nil
}

func explain(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	answer, err := client.Explain(ctx, asked.question())
	if err != nil {
		return nil, err
	}
	nodes := object{}
	for _, each := range answer.Nodes {
		node := object{"verdict": verdict(each.Verdict), "total": nil}
		scores := object{}
		for plugin, score := range each.Scores {
			scores[plugin] = object{"raw": score.Raw, "normalized": score.Normalized, "weighted": score.Weighted}
		}
		if each.Scores != nil {
			node["total"] = each.Total
		}
		node["scores"] = scores
		nodes[each.Node] = node
	}
	return object{"verdict": verdict(answer.Verdict), "node": answer.Node, "nodes": nodes}, nil
}

func bind(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	outcome, err := client.Bind(ctx, asked.reference(), asked.Node, asked.Profile)
	return object{"outcome": bare(outcome.String(), "COMMIT_OUTCOME_")}, err
}

func listNodes(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	answer, err := client.ListNodes(ctx, asked.Labels)
	if err != nil {
		return nil, err
	}
	return object{"epoch": answer.Epoch, "nodes": answer.Names}, nil
}

func openSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	session, err := client.OpenSession(ctx, asked.From)
	if err != nil {
		return nil, err
	}
	return object{"session": session.ID}, nil
}

func changeSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	var changes []*v1.SessionChange
	if len(asked.Put) > 0 {
		manifests := make([][]byte, len(asked.Put))
		for i, each := range asked.Put {
			manifests[i] = each
		}
		changes = append(changes, mooring.Put(manifests...))
	}
	for _, each := range asked.Remove {
		changes = append(changes, mooring.Remove(each.Kind, each.Namespace, each.Name))
	}
	return counts(client.Session(asked.Session).Change(ctx, changes...))
}

func markSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	mark, err := client.Session(asked.Session).Mark(ctx)
	return object{"mark": mark}, err
}

func revertSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	return counts(client.Session(asked.Session).Revert(ctx, asked.Mark))
}

func commitSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	return counts(client.Session(asked.Session).Commit(ctx, asked.Mark))
}

func closeSession(ctx context.Context, client *mooring.Client, asked command) (any, error) {
	return object{}, client.Session(asked.Session).Close(ctx)
}

func capabilities(ctx context.Context, client *mooring.Client, _ command) (any, error) {
	answer, err := v1.NewPluginServiceClient(client).GetCapabilities(ctx, &v1.GetCapabilitiesRequest{})
	modes, classes := []string{}, []string{}
	for _, mode := range answer.GetCommitModes() {
		modes = append(modes, bare(mode.String(), "COMMIT_MODE_"))
	}
	for _, class := range answer.GetContractClasses() {
		classes = append(classes, bare(class.String(), "CONTRACT_CLASS_"))
	}
	return object{
		"contract_revision": answer.GetContractRevision(), "contract_classes": classes, "commit_modes": modes,
	}, err
}

func counts(session *v1.Session, err error) (any, error) {
	return object{
		"change_count": session.GetChangeCount(), "node_count": session.GetNodeCount(), "pod_count": session.GetPodCount(),
	}, err
}

func verdict(verdict *v1.Verdict) object {
	reasons := verdict.GetReasons()
	if reasons == nil {
		reasons = []string{}
	}
	return object{
		"code": bare(verdict.GetCode().String(), "VERDICT_CODE_"), "plugin": verdict.GetPlugin(), "reasons": reasons,
		"message": verdict.GetMessage(),
	}
}

// bare is the name of an enum's value without its prefix, "" for the zero value.
func bare(name, prefix string) string {
	if name = strings.TrimPrefix(name, prefix); name == "UNSPECIFIED" {
		return ""
	}
	return name
}

func (c command) question() mooring.Question {
	return mooring.Question{Pod: c.pod(), Among: c.Among, Session: c.Session, Profile: c.Profile, InParts: c.Parts}
}

// pod is one as an object if it has metadata, else as a reference.
func (c command) pod() mooring.Pod {
	var whole struct{ Metadata json.RawMessage }
	if json.Unmarshal(c.Pod, &whole) == nil && whole.Metadata != nil {
		return mooring.JSON(c.Pod)
	}
	return mooring.Known(c.reference())
}

func (c command) reference() mooring.Reference {
	var reference mooring.Reference
	_ = json.Unmarshal(c.Pod, &reference) // Without one the server says what is missing.
	return reference
}
