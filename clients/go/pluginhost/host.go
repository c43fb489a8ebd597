// Package pluginhost serves plugins that mooring calls: write Filter and Score over named values.
//
//	rack := pluginhost.Plugin{
//		Name:        "Rack",
//		PodFields:   []string{"metadata.annotations[example.com/rack]"},
//		NodeColumns: []string{"metadata.labels[example.com/rack]"},
//		New: func(args []byte) (*pluginhost.Rule, error) {
//			return &pluginhost.Rule{Score: func(pod, node pluginhost.Values) int64 {
//				wanted := pod.Text("metadata.annotations[example.com/rack]")
//				if wanted != "" && node.Text("metadata.labels[example.com/rack]") == wanted {
//					return 100
//				}
//				return 0
//			}}, nil
//		},
//	}
//	err := pluginhost.Serve(ctx, "unix:/run/rack/host.sock", "1.0", rack)
package pluginhost

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"mooring.dev/go/mooring/mooringv1"
	"mooring.dev/go/mooring/pluginhostv1"
)

// A Plugin declares what it reads, and makes a rule for each profile that names it.
type Plugin struct {
	// Name is the plugin's name in configurations, in PascalCase.
	Name string
	// PodFields are the values that it reads of the pod, such as metadata.labels[app] or requests[cpu].
	PodFields []string
	// NodeColumns are the values that it reads of a node, such as metadata.labels[rack] or requested[cpu].
	NodeColumns []string
	// Normalizer brings raw scores to 0..100; without one they are 0 to 100.
	Normalizer pluginhostv1.Normalizer
	// Measurements are the values of nodes that Measure measures.
	Measurements []*pluginhostv1.MeasurementDescription
	// New makes a rule of the arguments, a JSON document, which is null without any. A wrong argument is an [*ArgumentError].
	New func(args []byte) (*Rule, error)
}

// A Rule has a function for each point of the plugin. They are called from several goroutines.
// Filter and Score are pure functions of their arguments: mooring asks once about each combination of values.
type Rule struct {
	// Filter returns why the node can't take the pod; nil if it can.
	Filter func(pod, node Values) *Rejection
	// Score returns the score of the node.
	Score func(pod, node Values) int64
	// Reserve keeps what the pod needs. Unreserve gives it back, also if it was never kept.
	Reserve   func(ctx context.Context, pod *pluginhostv1.ActRequest) *Rejection
	Unreserve func(ctx context.Context, pod *pluginhostv1.ActRequest)
	// Permit rejects the pod, lets it wait for some time, or lets it go on.
	Permit func(ctx context.Context, pod *pluginhostv1.ActRequest) (*Rejection, time.Duration)
	// PreBind does what has to be done before the binding, PostBind is called after it.
	PreBind  func(ctx context.Context, pod *pluginhostv1.ActRequest) *Rejection
	PostBind func(ctx context.Context, pod *pluginhostv1.ActRequest)
	// Measure returns the measured values by node.
	Measure func(ctx context.Context, name string) (map[string]int64, error)
}

// A Rejection is a "no". Removing pods from the node may help, unless it is Unresolvable.
type Rejection struct {
	Reason       string
	Unresolvable bool
}

// An ArgumentError tells which argument is wrong, and what would be right.
type ArgumentError struct {
	Field, Message string
}

func (e *ArgumentError) Error() string { return e.Field + ": " + e.Message }

// Values are those of one pod, or of nodes with one combination of values.
type Values struct {
	names   map[string]int
	pod     []*pluginhostv1.PodValue
	columns []*pluginhostv1.Column
	at      int
}

// ValuesOf returns values for tests: each is a string, an int, or nil.
func ValuesOf(values map[string]any) Values {
	made := Values{names: map[string]int{}}
	for name, value := range values {
		made.names[name] = len(made.pod)
		one := &pluginhostv1.PodValue{}
		switch typed := value.(type) {
		case string:
			one.Value = &pluginhostv1.PodValue_Text{Text: typed}
		case int:
			one.Value = &pluginhostv1.PodValue_Number{Number: int64(typed)}
		}
		made.pod = append(made.pod, one)
	}
	return made
}

// Text returns a text; "" without one. It panics if the name was not declared.
func (v Values) Text(name string) string {
	at := v.index(name)
	if v.columns == nil {
		return v.pod[at].GetText()
	}
	column := v.columns[at]
	if v.at < len(column.Texts) && column.Texts[v.at] > 0 {
		return column.Dictionary[column.Texts[v.at]-1]
	}
	return ""
}

// Number returns a number; 0 without one. It panics if the name was not declared.
func (v Values) Number(name string) int64 {
	at := v.index(name)
	if v.columns == nil {
		return v.pod[at].GetNumber()
	}
	if column := v.columns[at]; v.at < len(column.Numbers) {
		return column.Numbers[v.at]
	}
	return 0
}

// Has returns whether there is a value. It panics if the name was not declared.
func (v Values) Has(name string) bool {
	at := v.index(name)
	if v.columns == nil {
		return v.pod[at].GetValue() != nil
	}
	column := v.columns[at]
	if v.at < len(column.Texts) {
		return column.Texts[v.at] > 0
	}
	return v.at < len(column.Numbers) && (len(column.Absent) == 0 || column.Absent[v.at] == 0)
}

func (v Values) index(name string) int {
	at, ok := v.names[name]
	if !ok {
		panic(fmt.Sprintf("pluginhost: %q is not declared", name))
	}
	return at
}

type instance struct {
	plugin Plugin
	rule   *Rule
}

type host struct {
	pluginhostv1.UnimplementedPluginHostServiceServer
	id        string
	described *pluginhostv1.DescribeResponse
	plugins   map[string]Plugin

	lock      sync.RWMutex
	instances []instance
}

func newHost(version string, plugins []Plugin) (*host, error) {
	made := &host{id: rand.Text(), plugins: map[string]Plugin{}}
	made.described = &pluginhostv1.DescribeResponse{HostId: made.id, HostVersion: version}
	for _, plugin := range plugins {
		rule, err := plugin.New([]byte("null"))
		if err != nil {
			return nil, fmt.Errorf("%s without arguments: %w", plugin.Name, err)
		}
		made.plugins[plugin.Name] = plugin
		made.described.Plugins = append(made.described.Plugins, &pluginhostv1.PluginDescription{
			Name: plugin.Name, Points: points(rule), PodFields: plugin.PodFields, NodeColumns: plugin.NodeColumns,
			Normalizer: plugin.Normalizer, Measurements: plugin.Measurements,
		})
	}
	return made, nil
}

func points(rule *Rule) []string {
	var found []string
	for _, point := range []struct {
		name string
		has  bool
	}{
		{"filter", rule.Filter != nil},
		{"score", rule.Score != nil},
		{"reserve", rule.Reserve != nil},
		{"permit", rule.Permit != nil},
		{"preBind", rule.PreBind != nil},
		{"postBind", rule.PostBind != nil},
	} {
		if point.has {
			found = append(found, point.name)
		}
	}
	return found
}

func (h *host) Describe(context.Context, *pluginhostv1.DescribeRequest) (*pluginhostv1.DescribeResponse, error) {
	return h.described, nil
}

func (h *host) Configure(_ context.Context, request *pluginhostv1.ConfigureRequest) (*pluginhostv1.ConfigureResponse, error) {
	plugin, known := h.plugins[request.Plugin]
	if request.HostId != h.id || !known {
		return nil, errAnotherStart
	}
	rule, err := plugin.New([]byte(request.ArgsJson))
	if err != nil {
		fault := &pluginhostv1.ConfigureResponse_ArgumentFault{Message: err.Error()}
		if wrong := (*ArgumentError)(nil); errors.As(err, &wrong) {
			fault.Field, fault.Message = wrong.Field, wrong.Message
		}
		return &pluginhostv1.ConfigureResponse{Faults: []*pluginhostv1.ConfigureResponse_ArgumentFault{fault}}, nil
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.instances = append(h.instances, instance{plugin, rule})
	return &pluginhostv1.ConfigureResponse{Instance: uint32(len(h.instances))}, nil
}

func (h *host) Evaluate(_ context.Context, request *pluginhostv1.EvaluateRequest) (*pluginhostv1.EvaluateResponse, error) {
	found, err := h.instance(request.HostId, request.Instance)
	if err != nil {
		return nil, err
	}
	answer := &pluginhostv1.EvaluateResponse{HostId: h.id, Question: request.Question}
	pod := Values{names: indices(found.plugin.PodFields), pod: request.Pod}
	node := Values{names: indices(found.plugin.NodeColumns), columns: request.Columns}
	verdicts, rejections := make([]byte, request.Combinations), map[Rejection]byte{}
	if rule := found.rule.Filter; rule != nil {
		for node.at = range verdicts {
			if no := rule(pod, node); no != nil {
				if rejections[*no] == 0 {
					rejections[*no] = byte(len(rejections) + 1)
					answer.Rejections = append(answer.Rejections, verdict(no))
				}
				verdicts[node.at] = rejections[*no]
			}
		}
		answer.Verdicts = verdicts
	}
	if found.rule.Score != nil {
		score(answer, found, pod, node, verdicts)
	}
	return answer, nil
}

func score(answer *pluginhostv1.EvaluateResponse, found instance, pod, node Values, verdicts []byte) {
	scores := make([]int64, len(verdicts))
	for node.at = range verdicts {
		if verdicts[node.at] == 0 {
			scores[node.at] = found.rule.Score(pod, node)
		}
	}
	if found.plugin.Normalizer != pluginhostv1.Normalizer_NORMALIZER_UNSPECIFIED {
		answer.RawScores = scores
		return
	}
	answer.Scores = make([]byte, len(scores))
	for at, score := range scores {
		// 255 is rejected, as any other score that is out of range should be.
		answer.Scores[at] = byte(min(uint64(score), 255))
	}
}

func (h *host) Measure(ctx context.Context, request *pluginhostv1.MeasureRequest) (*pluginhostv1.MeasureResponse, error) {
	found, err := h.instance(request.HostId, request.Instance)
	if err != nil {
		return nil, err
	}
	values, err := found.rule.Measure(ctx, request.Name)
	return &pluginhostv1.MeasureResponse{Values: values}, err
}

func (h *host) Act(ctx context.Context, request *pluginhostv1.ActRequest) (*pluginhostv1.ActResponse, error) {
	found, err := h.instance(request.HostId, request.Instance)
	if err != nil {
		return nil, err
	}
	var no *Rejection
	var wait time.Duration
	rule := found.rule
	switch {
	case request.Point == "reserve" && rule.Reserve != nil:
		no = rule.Reserve(ctx, request)
	case request.Point == "unreserve" && rule.Unreserve != nil:
		rule.Unreserve(ctx, request)
	case request.Point == "permit" && rule.Permit != nil:
		no, wait = rule.Permit(ctx, request)
	case request.Point == "preBind" && rule.PreBind != nil:
		no = rule.PreBind(ctx, request)
	case request.Point == "postBind" && rule.PostBind != nil:
		rule.PostBind(ctx, request)
	}
	if no == nil && wait > 0 {
		waits := &mooringv1.Verdict{Code: mooringv1.VerdictCode_VERDICT_CODE_WAIT}
		return &pluginhostv1.ActResponse{Verdict: waits, Wait: durationpb.New(wait)}, nil
	}
	return &pluginhostv1.ActResponse{Verdict: verdict(no)}, nil
}

var errAnotherStart = status.Error(codes.FailedPrecondition, "another start of the host is meant")

func (h *host) instance(hostID string, number uint32) (instance, error) {
	h.lock.RLock()
	defer h.lock.RUnlock()
	if hostID != h.id || number == 0 || int(number) > len(h.instances) {
		return instance{}, errAnotherStart
	}
	return h.instances[number-1], nil
}

func verdict(no *Rejection) *mooringv1.Verdict {
	if no == nil {
		return &mooringv1.Verdict{Code: mooringv1.VerdictCode_VERDICT_CODE_SUCCESS}
	}
	code := mooringv1.VerdictCode_VERDICT_CODE_UNSCHEDULABLE
	if no.Unresolvable {
		code = mooringv1.VerdictCode_VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE
	}
	return &mooringv1.Verdict{Code: code, Reasons: []string{no.Reason}}
}

func indices(names []string) map[string]int {
	made := make(map[string]int, len(names))
	for at, name := range names {
		made[name] = at
	}
	return made
}
