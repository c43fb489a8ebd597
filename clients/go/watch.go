package mooring

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// NodesUpdate is what changed since the update before, or every node.
type NodesUpdate struct {
	Epoch uint64
	// Complete says that Added is every node: the first update, and one after changes that were missed.
	Complete       bool
	Added, Removed []string
}

// WatchNodes yields every node, then what changes. It goes on after failures that pass, and ends with the context, with an
// error for good, or with the loop.
func (c *Client) WatchNodes(ctx context.Context) iter.Seq2[NodesUpdate, error] {
	return func(yield func(NodesUpdate, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var table *nodeTable
		var parts *v1.WatchNodesResponse
		open := func() (grpc.ServerStreamingClient[v1.WatchNodesResponse], error) {
			parts = &v1.WatchNodesResponse{}
			request := &v1.WatchNodesRequest{Form: v1.NodeForm_NODE_FORM_NAMES}
			if table != nil {
				request.SinceEpoch = &table.epoch
			}
			return c.cluster.WatchNodes(ctx, request)
		}
		err := follow(ctx, open, func(part *v1.WatchNodesResponse) (bool, error) {
			proto.Merge(parts, part)
			if part.More {
				return true, nil
			}
			update, next, err := table.update(parts)
			table, parts = next, &v1.WatchNodesResponse{}
			return err == nil && yield(update, nil), err
		})
		if err != nil {
			yield(NodesUpdate{}, err)
		}
	}
}

// update returns what an answer changes, and the table after it.
func (t *nodeTable) update(answer *v1.WatchNodesResponse) (NodesUpdate, *nodeTable, error) {
	next, err := t.apply(&v1.ListNodesResponse{
		Provenance: answer.Provenance, Complete: answer.Complete, Indices: answer.Indices, Nodes: answer.Nodes,
		RemovedIndices: answer.RemovedIndices,
	})
	if err != nil {
		return NodesUpdate{}, t, err
	}
	update := NodesUpdate{Epoch: next.epoch, Complete: answer.Complete, Added: answer.GetNodes().GetNames().GetNames()}
	if t != nil && !answer.Complete {
		for _, index := range answer.RemovedIndices {
			if name, had := t.names[index]; had {
				update.Removed = append(update.Removed, name)
			}
		}
	}
	return update, next, nil
}

// WatchDecisions yields decisions as they are made, or from those after AfterSeq on. It goes on like [Client.WatchNodes].
func (c *Client) WatchDecisions(
	ctx context.Context, request *v1.WatchDecisionsRequest,
) iter.Seq2[*v1.WatchDecisionsResponse, error] {
	return func(yield func(*v1.WatchDecisionsResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		request := proto.CloneOf(request)
		open := func() (grpc.ServerStreamingClient[v1.WatchDecisionsResponse], error) {
			return c.decisions.WatchDecisions(ctx, request)
		}
		err := follow(ctx, open, func(response *v1.WatchDecisionsResponse) (bool, error) {
			request.AfterSeq, request.JournalId = &response.NextAfterSeq, response.JournalId
			return yield(response, nil), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// follow reads one stream after the other, until read returns false, one fails for good, or the context ends.
func follow[R any](
	ctx context.Context, open func() (grpc.ServerStreamingClient[R], error), read func(*R) (bool, error),
) error {
	var pause pauses
	for {
		stream, err := open()
		for err == nil {
			var response *R
			if response, err = stream.Recv(); err != nil {
				break
			}
			pause = pauses{}
			if more, err := read(response); !more {
				return err
			}
		}
		var e *Error
		if err != io.EOF { // Streams end after some minutes.
			if e = errorOf(err); ruleOf(e) == never {
				return e
			}
			e.Repeatable = true
		}
		if !pause.next(ctx) {
			if e != nil && ctx.Err() == nil {
				return e
			}
			<-ctx.Done()
			return errorOf(ctx.Err())
		}
	}
}
