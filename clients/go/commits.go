package mooring

import (
	"context"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// Reserve keeps a place for the pod on a node, if its filters agree. The reservation ends with Bind or Unreserve, or when
// the pod is deleted or bound by another client; never by a timer. Profile "" is the default one.
func (c *Client) Reserve(ctx context.Context, pod Pod, node, profile string) (*v1.Verdict, error) {
	if pod.err != nil {
		return nil, pod.err
	}
	answer, err := c.scheduling.Reserve(ctx, &v1.ReserveRequest{Pod: pod.source, Node: node, Profile: profile})
	return answer.GetVerdict(), err
}

// Bind binds the pod to a node. It is safe to repeat. Profile "" is the default one.
func (c *Client) Bind(ctx context.Context, pod Reference, node, profile string) (v1.CommitOutcome, error) {
	answer, err := c.scheduling.Bind(ctx, &v1.BindRequest{Pod: pod.message(), Node: node, Profile: profile})
	return answer.GetOutcome(), err
}
