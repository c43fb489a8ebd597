package mooring

import (
	"context"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// Session is a private version of the cluster, in which everything can be tried and taken back. [Batch] and [Question] take
// its ID: with COMMIT_MODE_RESERVE a batch places pods in it. What would fit, which nodes could go, and what would help, are
// questions of [v1.SimulationServiceClient]; they take the ID, too.
type Session struct {
	ID     string
	client *Client
}

// OpenSession begins with the cluster as it is now, or with the session from if that is not "". Close it in the end;
// otherwise it ends a minute after its last call.
func (c *Client) OpenSession(ctx context.Context, from string) (*Session, error) {
	answer, err := c.simulation.OpenSession(ctx, &v1.OpenSessionRequest{FromSession: from})
	if err != nil {
		return nil, err
	}
	return c.Session(answer.GetSession().GetId()), nil
}

// Session returns the session of an ID that is known from elsewhere.
func (c *Client) Session(id string) *Session { return &Session{ID: id, client: c} }

// Put is a change that adds objects as JSON, of any kinds, or replaces those of the same name; pods by UID.
func Put(manifests ...[]byte) *v1.SessionChange {
	objects := make([]*v1.KubernetesObject, len(manifests))
	for i, manifest := range manifests {
		objects[i] = &v1.KubernetesObject{Encoding: &v1.KubernetesObject_Json{Json: manifest}}
	}
	return &v1.SessionChange{Change: &v1.SessionChange_Put{Put: &v1.PutObjects{Objects: objects}}}
}

// Remove is a change that removes an object that is there. Nodes have the namespace "".
func Remove(kind, namespace, name string) *v1.SessionChange {
	object := &v1.RemoveObject{Kind: kind, Namespace: namespace, Name: name}
	return &v1.SessionChange{Change: &v1.SessionChange_Remove{Remove: object}}
}

// Change makes all changes in order, or none.
func (s *Session) Change(ctx context.Context, changes ...*v1.SessionChange) (*v1.Session, error) {
	answer, err := s.client.simulation.ChangeSession(ctx, &v1.ChangeSessionRequest{Session: s.ID, Changes: changes})
	return answer.GetSession(), err
}

// Mark remembers what the session is now. Marks nest.
func (s *Session) Mark(ctx context.Context) (uint32, error) {
	answer, err := s.client.simulation.MarkSession(ctx, &v1.MarkSessionRequest{Session: s.ID})
	return answer.GetMark(), err
}

// Revert undoes what was done since a mark; mark 0 is the session's beginning.
func (s *Session) Revert(ctx context.Context, mark uint32) (*v1.Session, error) {
	answer, err := s.client.simulation.RevertSession(ctx, &v1.RevertSessionRequest{Session: s.ID, Mark: mark})
	return answer.GetSession(), err
}

// Commit forgets a mark and those after it: what was done since stays.
func (s *Session) Commit(ctx context.Context, mark uint32) (*v1.Session, error) {
	answer, err := s.client.simulation.CommitSession(ctx, &v1.CommitSessionRequest{Session: s.ID, Mark: mark})
	return answer.GetSession(), err
}

// Close ends the session. Sessions that were opened from it go on.
func (s *Session) Close(ctx context.Context) error {
	_, err := s.client.simulation.CloseSession(ctx, &v1.CloseSessionRequest{Session: s.ID})
	return err
}
