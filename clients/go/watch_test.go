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

// some is a part of a stream of nodes.
func some(epoch uint64, complete, more bool, first uint32, nodes ...string) *v1.WatchNodesResponse {
	part := &v1.WatchNodesResponse{
		Provenance: &v1.Provenance{NodeEpoch: epoch}, Complete: complete, More: more, Nodes: names(nodes...),
	}
	for i := range nodes {
		part.Indices = append(part.Indices, first+uint32(i))
	}
	return part
}

// TestAWatchGoesOn has a stream in parts that fails, one that ends, and one of a server that does not know the epoch any more.
func TestAWatchGoesOn(t *testing.T) {
	f := serve(t)
	change := some(8, false, false, 1, "d")
	change.RemovedIndices = []uint32{1, 2}
	f.answers["WatchNodes"] = []any{
		[]any{some(7, true, true, 0, "a"), some(7, true, false, 1, "b", "c"), fails(codes.Unavailable, "DRAINING", nil)},
		[]any{change},
		[]any{some(3, true, false, 0, "z")},
		[]any{fails(codes.PermissionDenied, "FORBIDDEN", nil)},
	}
	var updates []mooring.NodesUpdate
	var failed error
	for update, err := range f.client(t).WatchNodes(within(t, 10*time.Second)) {
		if failed = err; err == nil {
			updates = append(updates, update)
		}
	}
	var e *mooring.Error
	if !errors.As(failed, &e) || e.Reason != v1.ErrorReason_ERROR_REASON_FORBIDDEN {
		t.Error(failed)
	}
	if expected := []mooring.NodesUpdate{
		{Epoch: 7, Complete: true, Added: []string{"a", "b", "c"}},
		{Epoch: 8, Added: []string{"d"}, Removed: []string{"b", "c"}},
		{Epoch: 3, Complete: true, Added: []string{"z"}},
	}; !reflect.DeepEqual(updates, expected) {
		t.Errorf("%+v", updates)
	}
	asked := requests[*v1.WatchNodesRequest](f)
	if asked[0].SinceEpoch != nil || asked[1].GetSinceEpoch() != 7 || asked[2].GetSinceEpoch() != 8 || asked[3].GetSinceEpoch() != 3 {
		t.Error(asked)
	}
}

func TestAWatchEndsWithTheLoop(t *testing.T) {
	f := serve(t)
	f.answers["WatchNodes"] = []any{[]any{some(7, true, false, 0, "a")}}
	for update, err := range f.client(t).WatchNodes(t.Context()) {
		if err != nil || update.Epoch != 7 {
			t.Error(update, err)
		}
		break
	}
	if len(f.got) != 1 {
		t.Error(f.got)
	}
}

func TestPagesAreFollowedToTheEnd(t *testing.T) {
	f := serve(t)
	page := all(7, "a", "b")
	page.NextPageToken = "2"
	last := &v1.ListNodesResponse{
		Provenance: &v1.Provenance{NodeEpoch: 7}, Complete: true, Indices: []uint32{2}, Nodes: names("c"),
	}
	f.answers["ListNodes"] = []any{page, last}
	f.answers["ListReservations"] = []any{
		&v1.ListReservationsResponse{Reservations: []*v1.Reservation{{Node: "a"}}, NextPageToken: "2"},
		&v1.ListReservationsResponse{Reservations: []*v1.Reservation{{Node: "b"}}},
	}
	client := f.client(t)
	listed, err := client.ListNodes(within(t, 5*time.Second), "")
	if err != nil || !reflect.DeepEqual(listed.Names, []string{"a", "b", "c"}) || listed.Epoch != 7 {
		t.Error(listed, err)
	}
	kept, err := client.ListReservations(within(t, 5*time.Second))
	if err != nil || len(kept) != 2 || kept[1].Node != "b" {
		t.Error(kept, err)
	}
	if sent := requests[*v1.ListReservationsRequest](f); sent[1].PageToken != "2" {
		t.Error(sent)
	}
}
