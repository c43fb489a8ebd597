package mooring

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// noNode is the index in an answer that stands for no node.
const noNode = 1<<32 - 1

// nodeTable has the nodes of one epoch. It never changes; a refresh makes another one.
type nodeTable struct {
	epoch   uint64
	names   map[uint32]string
	indices map[string]uint32
}

// apply returns the table after an answer of ListNodes: everything, or what changed since t.
func (t *nodeTable) apply(answer *v1.ListNodesResponse) (*nodeTable, error) {
	added := answer.GetNodes().GetNames().GetNames()
	if len(added) != len(answer.Indices) {
		return nil, fmt.Errorf("mooring: ListNodes has %d names for %d indices", len(added), len(answer.Indices))
	}
	next := &nodeTable{epoch: answer.GetProvenance().GetNodeEpoch(), names: map[uint32]string{}}
	if !answer.Complete && t != nil {
		next.names = maps.Clone(t.names)
		for _, index := range answer.RemovedIndices {
			delete(next.names, index)
		}
	}
	for i, index := range answer.Indices {
		next.names[index] = added[i]
	}
	next.indices = make(map[string]uint32, len(next.names))
	for index, name := range next.names {
		next.indices[name] = index
	}
	return next, nil
}

// selection returns the nodes by index, false if the table lacks one of them.
func (t *nodeTable) selection(names []string) (*v1.NodeSelection, bool) {
	if t == nil {
		return nil, false
	}
	indices := make([]uint32, len(names))
	for i, name := range names {
		index, has := t.indices[name]
		if !has {
			return nil, false
		}
		indices[i] = index
	}
	selected := &v1.NodeSelection_Indices{Indices: &v1.NodeIndices{NodeEpoch: t.epoch, Indices: indices}}
	return &v1.NodeSelection{Selection: selected, AnswerForm: v1.NodeForm_NODE_FORM_INDICES}, true
}

// translate returns the names, false if the indices belong to another epoch.
func (t *nodeTable) translate(selected *v1.NodeIndices) ([]string, bool) {
	if t == nil || t.epoch != selected.NodeEpoch {
		return nil, false
	}
	names := make([]string, len(selected.Indices))
	for i, index := range selected.Indices {
		name, has := t.names[index]
		if !has && index != noNode {
			return nil, false
		}
		names[i] = name
	}
	return names, true
}

// refreshed returns a table newer than seen.
func (c *Client) refreshed(ctx context.Context, seen *nodeTable) (*nodeTable, error) {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	if current := c.table.Load(); current != seen {
		return current, nil // Another call was faster.
	}
	request := &v1.ListNodesRequest{Form: v1.NodeForm_NODE_FORM_NAMES}
	if seen != nil {
		request.SinceEpoch = &seen.epoch
	}
	answer, err := c.listed(ctx, request)
	if err != nil {
		return nil, err
	}
	next, err := seen.apply(answer)
	if err == nil {
		c.table.Store(next)
	}
	return next, err
}

// byName selects the nodes of these names, all for nil, and lets the answer have names.
func byName(among []string) *v1.NodeSelection {
	nodes := &v1.NodeSelection{AnswerForm: v1.NodeForm_NODE_FORM_NAMES}
	if among != nil {
		nodes.Selection = &v1.NodeSelection_Names{Names: &v1.NodeNames{Names: among}}
	}
	return nodes
}

// byIndex selects like byName. It returns the table whose indices the selection has, if it has some.
func (c *Client) byIndex(ctx context.Context, among []string) (*v1.NodeSelection, *nodeTable, error) {
	if among == nil {
		return &v1.NodeSelection{AnswerForm: v1.NodeForm_NODE_FORM_INDICES}, nil, nil
	}
	table := c.table.Load()
	nodes, known := table.selection(among)
	if !known {
		var err error
		if table, err = c.refreshed(ctx, table); err != nil {
			return nil, nil, err
		}
		nodes, known = table.selection(among)
	}
	if !known {
		return byName(among), nil, nil // The server tells what it thinks of a name that it does not know.
	}
	return nodes, table, nil
}

// asking asks about the nodes that are meant, and returns their names, too. It asks again if the server's indices are others
// by now, the first time at once.
func asking[A interface{ GetNodes() *v1.NodeList }](
	ctx context.Context, c *Client, question Question, call func(*v1.NodeSelection) (A, error),
) (A, []string, error) {
	if question.Pod.err != nil {
		return *new(A), nil, question.Pod.err
	}
	var pause pauses
	for first := true; ; first = false {
		answer, names, err := askingOnce(ctx, c, question, call)
		if !isStale(err) {
			return answer, names, err
		}
		if !first && !pause.next(ctx) {
			e := errorOf(err)
			e.Repeatable = true
			return answer, nil, e
		}
	}
}

func askingOnce[A interface{ GetNodes() *v1.NodeList }](
	ctx context.Context, c *Client, question Question, call func(*v1.NodeSelection) (A, error),
) (answer A, names []string, err error) {
	nodes, table := byName(question.Among), (*nodeTable)(nil)
	if question.Session == "" { // A session has indices of its own.
		if nodes, table, err = c.byIndex(ctx, question.Among); err != nil {
			return answer, nil, err
		}
	}
	if answer, err = call(nodes); err == nil {
		names, err = c.namesOf(ctx, answer.GetNodes(), question.Among)
	} else if isStale(err) {
		if _, failed := c.refreshed(ctx, table); failed != nil {
			err = failed
		}
	}
	return answer, names, err
}

func isStale(err error) bool {
	e := errorOf(err)
	return e != nil && e.Reason == v1.ErrorReason_ERROR_REASON_NODE_EPOCH_STALE
}

// namesOf returns the names of an answer's nodes. Indices that are neither of the table's epoch nor of a newer one's are stale.
func (c *Client) namesOf(ctx context.Context, nodes *v1.NodeList, among []string) ([]string, error) {
	switch nodes := nodes.GetNodes().(type) {
	case nil:
		return among, nil // The answer is in the order of the question.
	case *v1.NodeList_Names:
		return nodes.Names.GetNames(), nil
	case *v1.NodeList_Indices:
		table := c.table.Load()
		if names, known := table.translate(nodes.Indices); known {
			return names, nil
		}
		table, err := c.refreshed(ctx, table)
		if err != nil {
			return nil, err
		}
		if names, known := table.translate(nodes.Indices); known {
			return names, nil
		}
		return nil, otherEpoch()
	default:
		return nil, fmt.Errorf("mooring: the answer has nodes as %T", nodes)
	}
}

// Listed is the nodes with some labels, or all, as of one epoch.
type Listed struct {
	Epoch uint64
	// Names are in the order of the indices.
	Names []string
}

// ListNodes lists the nodes with such labels: a selector as kubectl takes it, "" for all.
func (c *Client) ListNodes(ctx context.Context, labels string) (*Listed, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	answer, err := c.listed(ctx, &v1.ListNodesRequest{Form: v1.NodeForm_NODE_FORM_NAMES, LabelSelector: labels})
	if err != nil {
		return nil, err
	}
	return &Listed{answer.GetProvenance().GetNodeEpoch(), answer.GetNodes().GetNames().GetNames()}, nil
}

// isForgotten tells whether a list must begin again: the server has forgotten its pages.
func isForgotten(err error) bool {
	e := errorOf(err)
	return e != nil && e.Reason == v1.ErrorReason_ERROR_REASON_PAGE_TOKEN_STALE
}

// listed follows the pages of a list to the end.
func (c *Client) listed(ctx context.Context, request *v1.ListNodesRequest) (*v1.ListNodesResponse, error) {
	whole := &v1.ListNodesResponse{}
	for {
		page, err := c.cluster.ListNodes(ctx, request)
		if isForgotten(err) {
			whole, request.PageToken = &v1.ListNodesResponse{}, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		proto.Merge(whole, page)
		if page.NextPageToken == "" {
			return whole, nil
		}
		request.PageToken = page.NextPageToken
	}
}
