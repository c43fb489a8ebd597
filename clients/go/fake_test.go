package mooring_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

// fake is a server that answers what it is told to, in order; the last answer of a method stays.
type fake struct {
	v1.UnimplementedSchedulingServiceServer
	v1.UnimplementedClusterServiceServer
	v1.UnimplementedSimulationServiceServer
	address string

	mutex   sync.Mutex
	answers map[string][]any // Messages and errors, by method.
	got     []proto.Message
	times   []time.Time
}

func serve(t *testing.T) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{address: listener.Addr().String(), answers: map[string][]any{}}
	server := grpc.NewServer(grpc.UnaryInterceptor(f.answer))
	v1.RegisterSchedulingServiceServer(server, f)
	v1.RegisterClusterServiceServer(server, f)
	v1.RegisterSimulationServiceServer(server, f)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return f
}

func (f *fake) answer(ctx context.Context, request any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	method := path.Base(info.FullMethod)
	f.got = append(f.got, request.(proto.Message))
	f.times = append(f.times, time.Now())
	answers := f.answers[method]
	if len(answers) == 0 {
		return nil, status.Errorf(codes.Internal, "%s was not expected", method)
	}
	if len(answers) > 1 {
		f.answers[method] = answers[1:]
	}
	if err, is := answers[0].(error); is {
		return nil, err
	}
	return answers[0], nil
}

// requests are those of one type, in order.
func requests[R proto.Message](f *fake) []R {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var of []R
	for _, each := range f.got {
		if request, is := each.(R); is {
			of = append(of, request)
		}
	}
	return of
}

func (f *fake) client(t *testing.T) *mooring.Client {
	t.Helper()
	client, err := mooring.New(f.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// fails is an error as the server makes it.
func fails(code codes.Code, reason string, metadata map[string]string) error {
	told := status.New(code, "no")
	if reason != "" {
		value := v1.ErrorReason(v1.ErrorReason_value["ERROR_REASON_"+reason])
		told, _ = told.WithDetails(&v1.CallError{Reason: value, Metadata: metadata})
	}
	return told.Err()
}

// within is a context that leaves time for repeats, but not for ever.
func within(t *testing.T, time time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time)
	t.Cleanup(cancel)
	return ctx
}

func names(names ...string) *v1.NodeList {
	return &v1.NodeList{Nodes: &v1.NodeList_Names{Names: &v1.NodeNames{Names: names}}}
}

func indices(epoch uint64, indices ...uint32) *v1.NodeList {
	return &v1.NodeList{Nodes: &v1.NodeList_Indices{Indices: &v1.NodeIndices{NodeEpoch: epoch, Indices: indices}}}
}

// all is an answer of ListNodes with every node.
func all(epoch uint64, nodes ...string) *v1.ListNodesResponse {
	answer := &v1.ListNodesResponse{
		Provenance: &v1.Provenance{NodeEpoch: epoch}, Complete: true, Nodes: names(nodes...),
	}
	for i := range nodes {
		answer.Indices = append(answer.Indices, uint32(i))
	}
	return answer
}

var (
	web      = mooring.JSON([]byte(`{"metadata": {"name": "web"}}`))
	success  = &v1.Verdict{Code: v1.VerdictCode_VERDICT_CODE_SUCCESS}
	rejected = &v1.Verdict{
		Code: v1.VerdictCode_VERDICT_CODE_UNSCHEDULABLE, Plugin: "NodeResourcesFit", Reasons: []string{"Insufficient cpu"},
	}
)

// readJSON reads a file of the contract suite.
func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	read, err := os.ReadFile("../contract/" + file)
	if err == nil {
		err = json.Unmarshal(read, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// invalid is the error for a field that is wrong.
func invalid(field, why string) error {
	told, _ := status.New(codes.InvalidArgument, field+" "+why).WithDetails(&v1.CallError{
		Reason:          v1.ErrorReason_ERROR_REASON_REQUEST_INVALID,
		FieldViolations: []*v1.FieldViolation{{Field: field, Description: why}},
	})
	return told.Err()
}

// WatchNodes sends what it is told to for one call after the other: messages, then an error or the end.
func (f *fake) WatchNodes(request *v1.WatchNodesRequest, stream grpc.ServerStreamingServer[v1.WatchNodesResponse]) error {
	f.mutex.Lock()
	f.got = append(f.got, request)
	answers := f.answers["WatchNodes"]
	if len(answers) > 0 {
		f.answers["WatchNodes"] = answers[1:]
	}
	f.mutex.Unlock()
	if len(answers) == 0 {
		return status.Error(codes.Internal, "no more calls were expected")
	}
	for _, each := range answers[0].([]any) {
		if err, is := each.(error); is {
			return err
		}
		if err := stream.Send(each.(*v1.WatchNodesResponse)); err != nil {
			return err
		}
	}
	return nil
}
