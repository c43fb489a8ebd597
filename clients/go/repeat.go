package mooring

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	v1 "mooring.dev/go/mooring/mooringv1"
)

// rule says when a call that failed is made again.
type rule int

const (
	never      rule = iota
	always          // The server did nothing.
	idempotent      // If the call may be made twice.
	atLeader        // At the address of the leader.
)

// rules has the reasons for which a call is made again. NODE_EPOCH_STALE is the table's, see ask.
var rules = map[v1.ErrorReason]rule{
	v1.ErrorReason_ERROR_REASON_NOT_SYNCED:             always,
	v1.ErrorReason_ERROR_REASON_OVERLOADED:             always,
	v1.ErrorReason_ERROR_REASON_STATE_STALE:            always,
	v1.ErrorReason_ERROR_REASON_AUDIT_UNWRITABLE:       always,
	v1.ErrorReason_ERROR_REASON_WORKERS_ABANDONED:      always,
	v1.ErrorReason_ERROR_REASON_API_SERVER_UNAVAILABLE: idempotent,
	v1.ErrorReason_ERROR_REASON_DRAINING:               idempotent,
	v1.ErrorReason_ERROR_REASON_OBJECT_CHANGED:         idempotent,
	v1.ErrorReason_ERROR_REASON_PLUGIN_UNAVAILABLE:     idempotent,
	v1.ErrorReason_ERROR_REASON_NOT_LEADER:             atLeader,
}

// ruleOf decides by reason first. Without one the call may have been answered, and only a lost connection or stream passes.
func ruleOf(e *Error) rule {
	if e.Reason == 0 && (e.Code == codes.Unavailable || isReset(e)) {
		return idempotent
	}
	return rules[e.Reason]
}

// isReset tells whether a proxy, or a server that ends, has reset the stream: RST_STREAM with CANCEL or INTERNAL_ERROR.
func isReset(e *Error) bool {
	return e.Code == codes.Canceled || e.Code == codes.Internal && strings.Contains(e.Message, "RST_STREAM")
}

// isIdempotent tells whether calls of a method may be made twice, as the contract says.
func isIdempotent(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	described, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	options, _ := described.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}

// commits tells whether the leader alone makes such a call, or knows the answer.
func commits(request any) bool {
	switch request := request.(type) {
	case *v1.BindRequest, *v1.ListReservationsRequest, *v1.ReserveRequest, *v1.UnreserveRequest, *v1.UnreserveManyRequest:
		return true
	case interface {
		GetSession() string
		GetCommitMode() v1.CommitMode
	}:
		mode := request.GetCommitMode()
		return request.GetSession() == "" &&
			(mode == v1.CommitMode_COMMIT_MODE_RESERVE || mode == v1.CommitMode_COMMIT_MODE_BIND)
	}
	return false
}

// repeat makes a call until it is answered, fails for good, or its time would be over with the next pause.
func (c *Client) repeat(ctx context.Context, method string, request any, call func(*grpc.ClientConn) error) error {
	var pause pauses
	var earlier *Error
	for {
		connection := c.connectionFor(request)
		e := errorOf(call(connection))
		if e == nil {
			return nil
		}
		if earlier != nil && e.Code == codes.DeadlineExceeded && e.Reason == 0 && isIdempotent(method) {
			return earlier // It says more than that the time is over.
		}
		if e.Code == codes.Canceled && ctx.Err() != nil {
			return e // The caller has cancelled it.
		}
		switch ruleOf(e) {
		case never:
			return e
		case idempotent:
			if !isIdempotent(method) {
				return e
			}
		case atLeader:
			c.follow(e.Metadata["leader_address"])
		}
		if e.Reason == 0 {
			c.leave(connection)
		}
		e.Repeatable = true
		earlier = e
		if !pause.next(ctx) {
			return e
		}
	}
}

// pauses are between repeats, each up to twice as long as the one before.
type pauses struct{ longest time.Duration }

// next pauses. It returns false at once if that would end after the deadline, and when the context ends.
func (p *pauses) next(ctx context.Context) bool {
	p.longest = min(max(2*p.longest, firstPause), longestPause)
	pause := p.longest/2 + rand.N(p.longest/2+1)
	if deadline, has := ctx.Deadline(); has && time.Until(deadline) <= pause {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// leaders are the connections to replicas that were told as the leader. They stay open: others may be calling there.
type leaders struct {
	mutex     sync.Mutex
	byAddress map[string]*grpc.ClientConn
	current   *grpc.ClientConn
}

func (c *Client) connectionFor(request any) *grpc.ClientConn {
	if !commits(request) {
		return c.connection
	}
	c.leaders.mutex.Lock()
	defer c.leaders.mutex.Unlock()
	return cmp.Or(c.leaders.current, c.connection)
}

// follow sends calls that commit to address from now on; "" is the client's own target.
func (c *Client) follow(address string) {
	c.leaders.mutex.Lock()
	defer c.leaders.mutex.Unlock()
	c.leaders.current = nil
	if address == "" {
		return
	}
	connection, known := c.leaders.byAddress[address]
	if !known {
		var err error
		if connection, err = c.options.connect(address); err != nil {
			return
		}
		c.leaders.byAddress[address] = connection
	}
	c.leaders.current = connection
}

// leave goes back to the client's own target if the connection to the leader is lost: another replica may lead by now.
func (c *Client) leave(lost *grpc.ClientConn) {
	c.leaders.mutex.Lock()
	defer c.leaders.mutex.Unlock()
	if c.leaders.current == lost {
		c.leaders.current = nil
	}
}
