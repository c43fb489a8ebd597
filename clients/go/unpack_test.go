package mooring_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

func TestABatchIsTemplatesAndColumns(t *testing.T) {
	f := serve(t)
	f.answers["Schedule"] = []any{&v1.ScheduleResponse{
		Nodes: names("n1", "n2", ""), Verdicts: []*v1.Verdict{success, rejected}, PodVerdicts: []uint32{0, 0, 1},
		Totals: []int64{300, 200, 0},
	}}
	db := mooring.JSON([]byte(`{"metadata": {"name": "db"}}`))
	answer, err := f.client(t).Schedule(within(t, 5*time.Second), mooring.Batch{
		Pods: []mooring.Pods{
			{Template: web, UIDs: []string{"u1", "u2"}, Names: []string{"web-1", "web-2"}},
			{Template: db, UIDs: []string{"u3"}, Names: []string{"db-1"}},
		},
		Mode: v1.CommitMode_COMMIT_MODE_RESERVE,
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := requests[*v1.ScheduleRequest](f)[0]
	if len(sent.Templates) != 2 || !reflect.DeepEqual(sent.Pods.TemplateIndices, []uint32{0, 0, 1}) ||
		!reflect.DeepEqual(sent.Pods.Names, []string{"web-1", "web-2", "db-1"}) {
		t.Error(sent)
	}
	for i, expected := range []struct {
		uid, node string
		total     int64
		ok        bool
	}{{"u1", "n1", 300, true}, {"u2", "n2", 200, true}, {"u3", "", 0, false}} {
		if p := answer.Placements[i]; p.UID != expected.uid || p.Node != expected.node || p.Total != expected.total || p.OK() != expected.ok {
			t.Errorf("%d: %+v", i, p)
		}
	}
}

func TestWhatCannotBeSentFailsAtOnce(t *testing.T) {
	for _, each := range []struct {
		name string
		pods []mooring.Pods
	}{
		{"names for some", []mooring.Pods{{Template: web, UIDs: []string{"u1", "u2"}, Names: []string{"web-1"}}}},
		{"names in one group", []mooring.Pods{
			{Template: web, UIDs: []string{"u1"}, Names: []string{"web-1"}}, {Template: web, UIDs: []string{"u2"}}}},
		{"UIDs in one group", []mooring.Pods{{Template: web, UIDs: []string{"u1"}}, {Template: web}}},
		{"a pod that can't be encoded", []mooring.Pods{{Template: mooring.Object(broken{})}}},
	} {
		t.Run(each.name, func(t *testing.T) {
			f := serve(t)
			if _, err := f.client(t).Schedule(t.Context(), mooring.Batch{Pods: each.pods}); err == nil || len(f.got) > 0 {
				t.Error(err, f.got)
			}
		})
	}
}

type broken struct{}

func (broken) Marshal() ([]byte, error) { return nil, errors.New("broken") }

type encoded string

func (e encoded) Marshal() ([]byte, error) { return []byte(e), nil }

func TestAPodIsJSONOrProtobufOrKnown(t *testing.T) {
	f := serve(t)
	f.answers["Reserve"] = []any{&v1.ReserveResponse{Verdict: success}}
	for _, pod := range []mooring.Pod{
		web, mooring.Object(encoded("\n\x05\n\x03web")), mooring.Known(mooring.Reference{Namespace: "default", Name: "web", UID: "u1"}),
	} {
		if _, err := f.client(t).Reserve(within(t, 5*time.Second), pod, "n1", ""); err != nil {
			t.Fatal(err)
		}
	}
	sent := requests[*v1.ReserveRequest](f)
	if sent[0].Pod.GetObject().GetJson() == nil || string(sent[1].Pod.GetObject().GetProtobuf()) != "\n\x05\n\x03web" ||
		sent[2].Pod.GetReference().GetUid() != "u1" {
		t.Error(sent)
	}
}

func TestNodesWithoutVerdictsAreAllFeasible(t *testing.T) {
	f := serve(t)
	f.answers["Filter"] = []any{&v1.FilterResponse{
		Verdict: success, Nodes: indices(7, 0, 1), Verdicts: &v1.NodeVerdicts{Distinct: []*v1.Verdict{success}},
	}}
	f.answers["ListNodes"] = []any{all(7, "a", "b")}
	answer, err := f.client(t).Filter(within(t, 5*time.Second), mooring.Question{Pod: web})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Nodes) != 2 || answer.Nodes[1].Node != "b" || !answer.Nodes[0].Feasible() || !answer.Nodes[1].Feasible() {
		t.Error(answer.Nodes)
	}
}

func TestColumnsThatDoNotFitAreErrors(t *testing.T) {
	one := []*v1.Verdict{success}
	for _, each := range []struct {
		name     string
		verdicts *v1.NodeVerdicts
	}{
		{"too few", &v1.NodeVerdicts{Distinct: one, NodeVerdicts: []uint32{0}}},
		{"another verdict", &v1.NodeVerdicts{Distinct: one, NodeVerdicts: []uint32{0, 1}}},
		{"none", nil},
	} {
		t.Run(each.name, func(t *testing.T) {
			f := serve(t)
			f.answers["Filter"] = []any{&v1.FilterResponse{Nodes: names("a", "b"), Verdicts: each.verdicts}}
			f.answers["Explain"] = []any{&v1.ExplainResponse{Nodes: names("a", "b"), Verdicts: each.verdicts}}
			if _, err := f.client(t).Filter(within(t, 5*time.Second), mooring.Question{Pod: web}); err == nil {
				t.Error("Filter is answered")
			}
			if _, err := f.client(t).Explain(within(t, 5*time.Second), mooring.Question{Pod: web}); err == nil {
				t.Error("Explain is answered")
			}
		})
	}
}

func TestAnExplanationHasTheScoresOfEachNode(t *testing.T) {
	f := serve(t)
	selected := uint32(2)
	f.answers["ListNodes"] = []any{all(7, "a", "b", "c")}
	f.answers["Explain"] = []any{&v1.ExplainResponse{
		Verdict: success, Nodes: indices(7, 0, 1, 2),
		Verdicts:        &v1.NodeVerdicts{Distinct: []*v1.Verdict{success, rejected}, NodeVerdicts: []uint32{0, 1, 0}},
		ScoredPositions: []uint32{0, 2}, Totals: []int64{50, 90}, SelectedPosition: &selected,
		Plugins: []*v1.PluginScores{{Plugin: "ImageLocality", Raw: []int64{5, 9}, Normalized: []int64{25, 45}, Weighted: []int64{50, 90}}},
	}}
	answer, err := f.client(t).Explain(within(t, 5*time.Second), mooring.Question{Pod: web})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Node != "c" || answer.Nodes[1].Scores != nil || answer.Nodes[1].Feasible() || answer.Nodes[2].Total != 90 ||
		answer.Nodes[2].Scores["ImageLocality"] != (mooring.PluginScore{Raw: 9, Normalized: 45, Weighted: 90}) {
		t.Errorf("%+v", answer)
	}
}

func TestScoresAreOfTheNodesThatTheServerKnows(t *testing.T) {
	f := serve(t)
	f.answers["ListNodes"] = []any{all(7, "a")}
	f.answers["Score"] = []any{&v1.ScoreResponse{
		Verdicts: &v1.NodeVerdicts{Distinct: []*v1.Verdict{success, rejected}, NodeVerdicts: []uint32{0, 1}},
		Totals:   []int64{80, 0}, WeightSum: 4,
	}}
	answer, err := f.client(t).Score(within(t, 5*time.Second), mooring.Question{Pod: web, Among: []string{"a", "gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(answer.Nodes, []mooring.NodeTotal{{Node: "a", Total: 80}}) || answer.WeightSum != 4 {
		t.Errorf("%+v", answer)
	}
	if sent := requests[*v1.ScoreRequest](f)[0]; !reflect.DeepEqual(sent.Nodes.GetNames().GetNames(), []string{"a", "gone"}) {
		t.Error(sent)
	}
}

func TestIndicesFollowTheEpochs(t *testing.T) {
	f := serve(t)
	stale := fails(codes.FailedPrecondition, "NODE_EPOCH_STALE", map[string]string{"node_epoch": "8"})
	f.answers["ListNodes"] = []any{all(7, "a", "b"), &v1.ListNodesResponse{
		Provenance: &v1.Provenance{NodeEpoch: 8}, Indices: []uint32{0, 2}, Nodes: names("c", "a"), RemovedIndices: []uint32{0, 2},
	}}
	f.answers["Filter"] = []any{stale, &v1.FilterResponse{
		Verdict: success, Verdicts: &v1.NodeVerdicts{Distinct: []*v1.Verdict{success}},
	}}
	answer, err := f.client(t).Filter(within(t, 5*time.Second), mooring.Question{Pod: web, Among: []string{"a"}})
	if err != nil || len(answer.Nodes) != 1 || answer.Nodes[0].Node != "a" {
		t.Fatal(answer, err)
	}
	lists, asked := requests[*v1.ListNodesRequest](f), requests[*v1.FilterRequest](f)
	if lists[0].SinceEpoch != nil || lists[1].GetSinceEpoch() != 7 {
		t.Error(lists)
	}
	first, second := asked[0].Nodes.GetIndices(), asked[1].Nodes.GetIndices()
	if first.NodeEpoch != 7 || first.Indices[0] != 0 || second.NodeEpoch != 8 || second.Indices[0] != 2 {
		t.Error(asked)
	}
}

func TestAnAnswerOfALaterEpochIsAskedForAgainUntilTheTableIsTheSame(t *testing.T) {
	f := serve(t)
	verdicts := &v1.NodeVerdicts{Distinct: []*v1.Verdict{success}}
	f.answers["ListNodes"] = []any{all(7, "a"), all(9, "b")}
	f.answers["Filter"] = []any{
		&v1.FilterResponse{Verdicts: verdicts, Nodes: indices(7, 0)},
		&v1.FilterResponse{Verdicts: verdicts, Nodes: indices(8, 0)},
		&v1.FilterResponse{Verdicts: verdicts, Nodes: indices(9, 0)},
	}
	client := f.client(t)
	for _, expected := range []string{"a", "b"} {
		answer, err := client.Filter(within(t, 5*time.Second), mooring.Question{Pod: web})
		if err != nil || answer.Nodes[0].Node != expected {
			t.Fatal(answer, err)
		}
	}
	if count := len(requests[*v1.FilterRequest](f)); count != 3 {
		t.Errorf("%d calls", count)
	}
}

func TestFieldsThatAreWrongAreNamed(t *testing.T) {
	f := serve(t)
	f.answers["Reserve"] = []any{invalid("node", "is empty")}
	_, err := f.client(t).Reserve(within(t, 5*time.Second), web, "", "")
	var e *mooring.Error
	if !errors.As(err, &e) || e.Code != codes.InvalidArgument || e.Reason != v1.ErrorReason_ERROR_REASON_REQUEST_INVALID ||
		len(e.Violations) != 1 || e.Violations[0].Field != "node" || e.Violations[0].Description != "is empty" {
		t.Errorf("%+v", e)
	}
}
