package mooring_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

var opened = &v1.OpenSessionResponse{Session: &v1.Session{Id: "s1"}}

// TestEveryReasonHasItsRule plays each reason of the contract once, for a call that is idempotent and for one that is not.
func TestEveryReasonHasItsRule(t *testing.T) {
	var rules map[string]string
	readJSON(t, "repeats.json", &rules)
	if len(rules) < 30 {
		t.Fatalf("repeats.json has %d reasons", len(rules))
	}
	for reason, rule := range rules {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			if _, known := v1.ErrorReason_value["ERROR_REASON_"+reason]; !known {
				t.Fatal("the contract has no such reason")
			}
			failure := fails(codes.Aborted, reason, nil)
			idempotent, other := serve(t), serve(t)
			idempotent.answers["Reserve"] = []any{failure, &v1.ReserveResponse{Verdict: success}}
			other.answers["OpenSession"] = []any{failure, opened}

			_, err := idempotent.client(t).Reserve(within(t, 5*time.Second), web, "n1", "")
			if again := len(requests[*v1.ReserveRequest](idempotent)) > 1; again != (err == nil) ||
				again != (rule == "always" || rule == "idempotent" || rule == "leader") {
				t.Errorf("%s: idempotent call made again: %v, error: %v", rule, again, err)
			}
			_, err = other.client(t).OpenSession(within(t, 5*time.Second), "")
			if again := len(requests[*v1.OpenSessionRequest](other)) > 1; again != (err == nil) ||
				again != (rule == "always" || rule == "leader") {
				t.Errorf("%s: other call made again: %v, error: %v", rule, again, err)
			}
		})
	}
}

func TestWithoutAReasonOnlyALostConnectionOrStreamIsRepeated(t *testing.T) {
	for _, each := range []struct {
		name  string
		code  codes.Code
		again bool
	}{
		{"unavailable", codes.Unavailable, true},
		{"too large an answer", codes.ResourceExhausted, false},
		{"aborted", codes.Aborted, false},
		{"a stream that was reset", codes.Canceled, true},
		{"internal", codes.Internal, false},
	} {
		t.Run(each.name, func(t *testing.T) {
			f := serve(t)
			f.answers["Bind"] = []any{fails(each.code, "", nil), &v1.BindResponse{}}
			_, err := f.client(t).Bind(within(t, 5*time.Second), mooring.Reference{UID: "u"}, "n1", "")
			if again := len(requests[*v1.BindRequest](f)) > 1; again != each.again || again != (err == nil) {
				t.Errorf("made again: %v, error: %v", again, err)
			}
		})
	}
}

func TestAReasonOfALaterServerIsNotRepeated(t *testing.T) {
	f := serve(t)
	told, _ := status.New(codes.Unavailable, "no").WithDetails(&v1.CallError{Reason: 999, Metadata: map[string]string{"moon": "full"}})
	f.answers["Bind"] = []any{told.Err()}
	_, err := f.client(t).Bind(within(t, 5*time.Second), mooring.Reference{}, "n1", "")
	var e *mooring.Error
	if !errors.As(err, &e) || e.Reason != 999 || e.Metadata["moon"] != "full" || e.Repeatable {
		t.Errorf("%+v", e)
	}
	if len(requests[*v1.BindRequest](f)) != 1 {
		t.Error("it was repeated")
	}
}

// TestWhichCallsMayBeMadeTwice lets the answer to each get lost.
func TestWhichCallsMayBeMadeTwice(t *testing.T) {
	batch := func(mode v1.CommitMode, session string) func(context.Context, *mooring.Client) error {
		return func(ctx context.Context, c *mooring.Client) error {
			_, err := c.Schedule(ctx, mooring.Batch{Pods: []mooring.Pods{{Template: web}}, Mode: mode, Session: session})
			return err
		}
	}
	for _, each := range []struct {
		name   string
		method string
		again  bool
		call   func(context.Context, *mooring.Client) error
	}{
		{"dry run", "Schedule", true, batch(v1.CommitMode_COMMIT_MODE_DRY_RUN, "")},
		{"reserve", "Schedule", true, batch(v1.CommitMode_COMMIT_MODE_RESERVE, "")},
		{"bind", "Schedule", true, batch(v1.CommitMode_COMMIT_MODE_BIND, "")},
		{"dry run in a session", "Schedule", true, batch(v1.CommitMode_COMMIT_MODE_DRY_RUN, "s1")},
		{"place in a session", "Schedule", true, batch(v1.CommitMode_COMMIT_MODE_RESERVE, "s1")},
		{"change", "ChangeSession", false, func(ctx context.Context, c *mooring.Client) error {
			_, err := c.Session("s1").Change(ctx, mooring.Remove("Node", "", "n1"))
			return err
		}},
		{"mark", "MarkSession", false, func(ctx context.Context, c *mooring.Client) error {
			_, err := c.Session("s1").Mark(ctx)
			return err
		}},
		{"revert", "RevertSession", false, func(ctx context.Context, c *mooring.Client) error {
			_, err := c.Session("s1").Revert(ctx, 1)
			return err
		}},
		{"commit", "CommitSession", false, func(ctx context.Context, c *mooring.Client) error {
			_, err := c.Session("s1").Commit(ctx, 1)
			return err
		}},
		{"close", "CloseSession", true, func(ctx context.Context, c *mooring.Client) error {
			return c.Session("s1").Close(ctx)
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			f := serve(t)
			f.answers[each.method] = []any{fails(codes.Unavailable, "", nil), fails(codes.NotFound, "", nil)}
			err := each.call(within(t, 5*time.Second), f.client(t))
			var e *mooring.Error
			if !errors.As(err, &e) || (e.Code == codes.NotFound) != each.again {
				t.Error(err)
			}
		})
	}
}

func TestRepeatsEndWithTheTimeOfTheCaller(t *testing.T) {
	t.Parallel()
	f := serve(t)
	f.answers["Bind"] = []any{fails(codes.Unavailable, "NOT_SYNCED", nil)}
	_, err := f.client(t).Bind(within(t, 3*time.Second), mooring.Reference{}, "n1", "")
	var e *mooring.Error
	if !errors.As(err, &e) || e.Reason != v1.ErrorReason_ERROR_REASON_NOT_SYNCED || !e.Repeatable {
		t.Errorf("%+v", e)
	}
	if count := len(requests[*v1.BindRequest](f)); count < 2 || count > 12 {
		t.Errorf("%d calls", count)
	}
}

func TestPausesGrow(t *testing.T) {
	f := serve(t)
	failure := fails(codes.Unavailable, "NOT_SYNCED", nil)
	f.answers["Bind"] = []any{failure, failure, failure, failure, &v1.BindResponse{}}
	if _, err := f.client(t).Bind(t.Context(), mooring.Reference{}, "n1", ""); err != nil {
		t.Fatal(err)
	}
	for i, least := range []time.Duration{25, 50, 100, 200} {
		if pause := f.times[i+1].Sub(f.times[i]); pause < least*time.Millisecond {
			t.Errorf("pause %d took %s", i, pause)
		}
	}
}

func TestTimeThatIsOverAndACallerThatGivesUpAreTold(t *testing.T) {
	f := serve(t)
	f.mutex.Lock() // There is no answer.
	defer f.mutex.Unlock()
	_, err := f.client(t).Bind(within(t, 50*time.Millisecond), mooring.Reference{}, "n1", "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err = f.client(t).Bind(ctx, mooring.Reference{}, "n1", ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCommitsGoToTheLeader(t *testing.T) {
	leader, follower := serve(t), serve(t)
	bound := &v1.BindResponse{Outcome: v1.CommitOutcome_COMMIT_OUTCOME_BOUND}
	leader.answers["Bind"] = []any{fails(codes.ResourceExhausted, "OVERLOADED", nil), bound}
	told := map[string]string{"leader_address": leader.address}
	follower.answers["Bind"] = []any{fails(codes.Unavailable, "NOT_LEADER", told)}
	follower.answers["OpenSession"] = []any{opened}
	client := follower.client(t)
	for range 2 {
		outcome, err := client.Bind(within(t, 5*time.Second), mooring.Reference{}, "n1", "")
		if err != nil || outcome != v1.CommitOutcome_COMMIT_OUTCOME_BOUND {
			t.Fatal(outcome, err)
		}
	}
	if here, there := len(requests[*v1.BindRequest](follower)), len(requests[*v1.BindRequest](leader)); here != 1 || there != 3 {
		t.Errorf("%d calls of the follower, %d of the leader", here, there)
	}
	if _, err := client.OpenSession(within(t, 5*time.Second), ""); err != nil {
		t.Error("what commits nothing stays:", err)
	}
}

func TestALostLeaderIsAskedForAgain(t *testing.T) {
	first, second, follower := serve(t), serve(t), serve(t)
	notLeader := func(address string) error {
		return fails(codes.Unavailable, "NOT_LEADER", map[string]string{"leader_address": address})
	}
	first.answers["Bind"] = []any{fails(codes.Unavailable, "", nil)}
	second.answers["Bind"] = []any{&v1.BindResponse{}}
	follower.answers["Bind"] = []any{notLeader(first.address), notLeader(second.address)}
	if _, err := follower.client(t).Bind(within(t, 5*time.Second), mooring.Reference{}, "n1", ""); err != nil {
		t.Error(err)
	}
}
