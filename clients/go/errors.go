package mooring

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mooring.dev/go/mooring/mooringv1"
)

// Error is a call that could not be answered. That no node is feasible is an answer, and never an Error.
//
//	var failed *mooring.Error
//	if errors.As(err, &failed) && failed.Reason == mooringv1.ErrorReason_ERROR_REASON_POD_BOUND_ELSEWHERE {
//		fmt.Println("the pod is on", failed.Metadata["node"])
//	}
//
// errors.Is(err, context.DeadlineExceeded) tells whether the time was over.
type Error struct {
	// Code is gRPC's.
	Code codes.Code
	// Reason is the server's. Zero if the call failed before it could tell one.
	Reason mooringv1.ErrorReason
	// Message is for people. Never decide by it.
	Message string
	// Metadata has what is known or current, by the keys that [mooringv1.ErrorReason] names.
	Metadata map[string]string
	// Violations name the fields of the request that are wrong.
	Violations []*mooringv1.FieldViolation
	// Repeatable says that the same call may succeed in a moment and can do no harm: only the time ended the repeats.
	Repeatable bool

	status *status.Status
}

// Error returns the code, the reason and the message.
func (e *Error) Error() string {
	if e.Reason == 0 {
		return fmt.Sprintf("mooring: %s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("mooring: %s (%s): %s", e.Code, strings.TrimPrefix(e.Reason.String(), "ERROR_REASON_"), e.Message)
}

// Is tells whether target is the context's error for e.
func (e *Error) Is(target error) bool {
	return target == context.DeadlineExceeded && e.Code == codes.DeadlineExceeded ||
		target == context.Canceled && e.Code == codes.Canceled
}

// GRPCStatus returns the error as gRPC has it, for [status.FromError].
func (e *Error) GRPCStatus() *status.Status { return e.status }

// errorOf returns what failed, nil for nil.
func errorOf(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	told := status.FromContextError(err)
	if answered, ok := status.FromError(err); ok {
		told = answered
	}
	e := &Error{Code: told.Code(), Message: told.Message(), status: told}
	for _, detail := range told.Details() {
		if told, is := detail.(*mooringv1.CallError); is {
			e.Reason, e.Metadata, e.Violations = told.Reason, told.Metadata, told.FieldViolations
		}
	}
	return e
}

// otherEpoch is what failed if an answer has indices that can't be translated.
func otherEpoch() *Error {
	const message = "the nodes of the answer are not those that the server lists"
	return &Error{
		Code: codes.FailedPrecondition, Reason: mooringv1.ErrorReason_ERROR_REASON_NODE_EPOCH_STALE, Message: message,
		status: status.New(codes.FailedPrecondition, message),
	}
}
