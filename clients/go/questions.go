package mooring

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// Question is about one pod and some nodes. It changes nothing.
type Question struct {
	Pod Pod
	// Among has the names of the nodes; default all.
	Among []string
	// Session is the id of the session that is asked; default the live cluster.
	Session string
	// Profile is by default the one that the pod's schedulerName names, or the only one.
	Profile string
	// InParts has the answer sent in messages of some megabytes, so that all of it may be larger than a message may be.
	InParts bool
}

// Filtered is the answer to [Client.Filter].
type Filtered struct {
	// Verdict is on the pod: success if at least one node is feasible.
	Verdict *v1.Verdict
	// Nodes are in the order of Among, or of the indices.
	Nodes      []NodeVerdict
	Provenance *v1.Provenance
	Warnings   []string
}

// NodeVerdict is whether a pod may run on a node, and if not, why.
type NodeVerdict struct {
	Node    string
	Verdict *v1.Verdict
}

// Feasible tells whether the pod may run there.
func (n NodeVerdict) Feasible() bool {
	return n.Verdict.GetCode() == v1.VerdictCode_VERDICT_CODE_SUCCESS
}

// Filter says of each node whether the pod may run there, and if not, why.
func (c *Client) Filter(ctx context.Context, question Question) (*Filtered, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, names, err := asking(ctx, c, question, func(nodes *v1.NodeSelection) (*v1.FilterResponse, error) {
		request := &v1.FilterRequest{
			Pod: question.Pod.source, Nodes: nodes, Session: question.Session, Profile: question.Profile,
		}
		if !question.InParts {
			return c.scheduling.Filter(ctx, request)
		}
		return merged(ctx, c, v1.SchedulingService_FilterStream_FullMethodName, (*v1.FilterStreamResponse).GetPart,
			func(server v1.SchedulingServiceClient) (grpc.ServerStreamingClient[v1.FilterStreamResponse], error) {
				return server.FilterStream(ctx, &v1.FilterStreamRequest{Request: request})
			})
	})
	if err != nil {
		return nil, err
	}
	verdicts, err := verdictsOf(answer.Verdicts, len(names))
	if err != nil {
		return nil, err
	}
	filtered := &Filtered{
		Verdict: answer.Verdict, Nodes: make([]NodeVerdict, len(names)),
		Provenance: answer.Provenance, Warnings: answer.Warnings,
	}
	for i, name := range names {
		filtered.Nodes[i] = NodeVerdict{name, verdicts[i]}
	}
	return filtered, nil
}

// Scored is the answer to [Client.Score].
type Scored struct {
	// Nodes are those that the server knows, in the order of Among, or of the indices.
	Nodes []NodeTotal
	// WeightSum times 100 is the highest total possible.
	WeightSum  int64
	Provenance *v1.Provenance
	Warnings   []string
}

// NodeTotal is the sum of a node's weighted scores.
type NodeTotal struct {
	Node  string
	Total int64
}

// Score scores nodes, which are all taken as feasible.
func (c *Client) Score(ctx context.Context, question Question) (*Scored, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, names, err := asking(ctx, c, question, func(nodes *v1.NodeSelection) (*v1.ScoreResponse, error) {
		request := &v1.ScoreRequest{
			Pod: question.Pod.source, Nodes: nodes, Session: question.Session, Profile: question.Profile,
			IncludeTotals: true, OmitPlugins: true,
		}
		if !question.InParts {
			return c.scheduling.Score(ctx, request)
		}
		return merged(ctx, c, v1.SchedulingService_ScoreStream_FullMethodName, (*v1.ScoreStreamResponse).GetPart,
			func(server v1.SchedulingServiceClient) (grpc.ServerStreamingClient[v1.ScoreStreamResponse], error) {
				return server.ScoreStream(ctx, &v1.ScoreStreamRequest{Request: request})
			})
	})
	if err != nil {
		return nil, err
	}
	verdicts, err := verdictsOf(answer.Verdicts, len(names))
	if err != nil {
		return nil, err
	}
	if len(answer.Totals) != len(names) {
		return nil, fmt.Errorf("mooring: %d totals for %d nodes", len(answer.Totals), len(names))
	}
	scored := &Scored{WeightSum: answer.WeightSum, Provenance: answer.Provenance, Warnings: answer.Warnings}
	for i, name := range names {
		if (NodeVerdict{name, verdicts[i]}).Feasible() {
			scored.Nodes = append(scored.Nodes, NodeTotal{name, answer.Totals[i]})
		}
	}
	return scored, nil
}

// Explained is the answer to [Client.Explain].
type Explained struct {
	// Verdict is on the pod.
	Verdict *v1.Verdict
	// Node is the selected one; empty if there is none.
	Node string
	// Nodes are in the order of Among, or of the indices.
	Nodes []ExplainedNode
	// Answer has all the rest: the verdicts of PreFilter, resources, victims and more. Positions in it are those in Nodes.
	Answer *v1.ExplainResponse
}

// ExplainedNode is all that was found out about a node.
type ExplainedNode struct {
	NodeVerdict
	// Scores are those of each plugin, by its name; nil if the node was not scored.
	Scores map[string]PluginScore
	// Total is the sum of the weighted scores.
	Total int64
}

// PluginScore is a plugin's score for a node: as it was given, as 0 to 100, and times the plugin's weight.
type PluginScore struct{ Raw, Normalized, Weighted int64 }

// Explain places the pod as a dry run, and tells everything about each node.
func (c *Client) Explain(ctx context.Context, question Question) (*Explained, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, names, err := asking(ctx, c, question, func(nodes *v1.NodeSelection) (*v1.ExplainResponse, error) {
		request := &v1.ExplainRequest{
			Pod: question.Pod.source, Nodes: nodes, Session: question.Session, Profile: question.Profile,
		}
		if !question.InParts {
			return c.scheduling.Explain(ctx, request)
		}
		return merged(ctx, c, v1.SchedulingService_ExplainStream_FullMethodName, (*v1.ExplainStreamResponse).GetPart,
			func(server v1.SchedulingServiceClient) (grpc.ServerStreamingClient[v1.ExplainStreamResponse], error) {
				return server.ExplainStream(ctx, &v1.ExplainStreamRequest{Request: request})
			})
	})
	if err != nil {
		return nil, err
	}
	return explained(answer, names)
}

func explained(answer *v1.ExplainResponse, names []string) (*Explained, error) {
	verdicts, err := verdictsOf(answer.Verdicts, len(names))
	if err != nil {
		return nil, err
	}
	result := &Explained{Verdict: answer.Verdict, Nodes: make([]ExplainedNode, len(names)), Answer: answer}
	for i, name := range names {
		result.Nodes[i].NodeVerdict = NodeVerdict{name, verdicts[i]}
	}
	for i, position := range answer.ScoredPositions {
		if int(position) >= len(names) {
			return nil, fmt.Errorf("mooring: position %d of %d nodes", position, len(names))
		}
		node := &result.Nodes[position]
		node.Total, node.Scores = at(answer.Totals, i), make(map[string]PluginScore, len(answer.Plugins))
		for _, plugin := range answer.Plugins {
			node.Scores[plugin.Plugin] = PluginScore{at(plugin.Raw, i), at(plugin.Normalized, i), at(plugin.Weighted, i)}
		}
	}
	if answer.SelectedPosition != nil {
		if int(*answer.SelectedPosition) >= len(names) {
			return nil, fmt.Errorf("mooring: position %d of %d nodes", *answer.SelectedPosition, len(names))
		}
		result.Node = names[*answer.SelectedPosition]
	}
	return result, nil
}

// merged returns an answer that comes in parts, with repeats.
func merged[R any, A proto.Message](
	ctx context.Context, c *Client, method string, part func(*R) A,
	open func(v1.SchedulingServiceClient) (grpc.ServerStreamingClient[R], error),
) (A, error) {
	var whole A
	err := c.repeat(ctx, method, nil, func(connection *grpc.ClientConn) error {
		whole = whole.ProtoReflect().Type().New().Interface().(A)
		stream, err := open(v1.NewSchedulingServiceClient(connection))
		for err == nil {
			var response *R
			if response, err = stream.Recv(); err == nil {
				proto.Merge(whole, part(response))
			}
		}
		if err == io.EOF {
			return nil
		}
		return err
	})
	return whole, err
}

// verdictsOf returns one verdict per node; an empty column is success for each.
func verdictsOf(column *v1.NodeVerdicts, nodes int) ([]*v1.Verdict, error) {
	distinct := column.GetDistinct()
	indices := column.GetNodeVerdicts()
	if len(indices) == 0 {
		indices = make([]uint32, nodes)
	}
	if len(indices) != nodes {
		return nil, fmt.Errorf("mooring: %d verdicts for %d nodes", len(indices), nodes)
	}
	verdicts := make([]*v1.Verdict, nodes)
	for i, index := range indices {
		if int(index) >= len(distinct) {
			return nil, fmt.Errorf("mooring: node %d has verdict %d of %d", i, index, len(distinct))
		}
		verdicts[i] = distinct[index]
	}
	return verdicts, nil
}
