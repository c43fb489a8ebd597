package mooring

import (
	"context"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// Reserve keeps a place for the pod on a node, if its filters agree: the answer has a verdict and an outcome. The reservation ends
// with Bind or Unreserve, or when the pod is deleted or bound by another client; never by a timer. Profile "" is the default one.
func (c *Client) Reserve(ctx context.Context, pod Pod, node, profile string) (*v1.ReserveResponse, error) {
	if pod.err != nil {
		return nil, pod.err
	}
	return c.scheduling.Reserve(ctx, &v1.ReserveRequest{Pod: pod.source, Node: node, Profile: profile})
}

// Bind binds the pod to a node. It is safe to repeat. Profile "" is the default one.
func (c *Client) Bind(ctx context.Context, pod Reference, node, profile string) (v1.CommitOutcome, error) {
	answer, err := c.scheduling.Bind(ctx, &v1.BindRequest{Pod: pod.message(), Node: node, Profile: profile})
	return answer.GetOutcome(), err
}

// Unreserve ends the reservations of pods. The answers are in the order of the UIDs; one that could not be ended has an error.
func (c *Client) Unreserve(ctx context.Context, uids ...string) ([]*v1.UnreservedPod, error) {
	answer, err := c.scheduling.UnreserveMany(ctx, &v1.UnreserveManyRequest{Uids: uids})
	return answer.GetPods(), err
}

// ListReservations lists the places that the server keeps: those of this client, by the name in its certificate, and those that
// belong to nobody.
func (c *Client) ListReservations(ctx context.Context) ([]*v1.Reservation, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var listed []*v1.Reservation
	request := &v1.ListReservationsRequest{}
	for {
		page, err := c.scheduling.ListReservations(ctx, request)
		if isForgotten(err) {
			listed, request.PageToken = nil, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		listed = append(listed, page.Reservations...)
		if request.PageToken = page.NextPageToken; request.PageToken == "" {
			return listed, nil
		}
	}
}
