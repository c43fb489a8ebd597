package mooring_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"mooring.dev/go/mooring"
	v1 "mooring.dev/go/mooring/mooringv1"
)

// sample starts `mooring serve` on the sample cluster and returns its address.
func sample(t testing.TB, listen string) string {
	t.Helper()
	program := os.Getenv("MOORING")
	if program == "" {
		program = "../../.venv/bin/mooring"
	}
	server := exec.Command(
		program, "serve", "--source", "sample", "--listen", listen,
		"--health-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--drain-delay", "0s",
	)
	server.Stderr = os.Stderr
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal("MOORING names the program:", err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
	})
	ready := regexp.MustCompile(`^mooring ready: grpc=(\S+)`)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("mooring serve did not become ready")
	return ""
}

func connect(t testing.TB, address string) *mooring.Client {
	t.Helper()
	client, err := mooring.New(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func small(name string) mooring.Pod {
	return mooring.JSON(fmt.Appendf(nil, `{"metadata": {"name": %q, "namespace": "default", "uid": %q},
		"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "10m"}}}]}}`, name, name))
}

// TestARealServer asks about the sample cluster in all ways, whose answers must agree.
func TestARealServer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	client := connect(t, sample(t, "unix:"+socket))
	ctx := within(t, 60*time.Second)

	question := mooring.Question{Pod: small("one")}
	filtered, err := client.Filter(ctx, question)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range filtered.Nodes {
		if each.Feasible() {
			question.Among = append(question.Among, each.Node)
		}
	}
	scored, err := client.Score(ctx, question)
	if err != nil {
		t.Fatal(err)
	}
	explained, err := client.Explain(ctx, mooring.Question{Pod: small("one")})
	if err != nil {
		t.Fatal(err)
	}
	totals := map[string]int64{}
	for _, each := range scored.Nodes {
		totals[each.Node] = each.Total
	}
	if len(totals) < 2 {
		t.Fatal(totals)
	}
	for i, each := range explained.Nodes {
		if each.Node != filtered.Nodes[i].Node || each.Feasible() != filtered.Nodes[i].Feasible() || each.Total != totals[each.Node] {
			t.Errorf("%+v: filtered %+v, scored %d", each, filtered.Nodes[i], totals[each.Node])
		}
	}
	scheduled, err := client.Schedule(ctx, mooring.Batch{Pods: []mooring.Pods{{Template: small("one")}}})
	if err != nil || scheduled.Placements[0].Node != explained.Node || scheduled.Placements[0].Total != totals[explained.Node] {
		t.Error(scheduled, explained.Node, err)
	}
	for update, err := range client.WatchNodes(ctx) {
		if err != nil || !update.Complete || len(update.Added) != len(filtered.Nodes) {
			t.Error(update, err)
		}
		break
	}
	for response, err := range client.WatchDecisions(ctx, &v1.WatchDecisionsRequest{AfterSeq: new(uint64)}) {
		if err != nil || len(response.Decisions) == 0 {
			t.Error(response, err)
		}
		break
	}
	all, err := client.ListNodes(ctx, "")
	if err != nil || len(all.Names) != len(filtered.Nodes) {
		t.Error(all, err)
	}
}

func TestCommitsAndSessionsOfARealServer(t *testing.T) {
	client := connect(t, sample(t, "127.0.0.1:0"))
	ctx := within(t, 60*time.Second)

	session, err := client.OpenSession(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	batch := mooring.Batch{Mode: v1.CommitMode_COMMIT_MODE_RESERVE, Session: session.ID}
	pods := mooring.Pods{Template: small("many")}
	for i := range 100 {
		pods.UIDs = append(pods.UIDs, fmt.Sprint("u", i))
		pods.Names = append(pods.Names, fmt.Sprint("many-", i))
	}
	batch.Pods = []mooring.Pods{pods}
	mark, err := session.Mark(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tried, err := client.Schedule(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := session.Revert(ctx, mark); err != nil || state.ChangeCount != 0 {
		t.Error(state, err)
	}
	if err := session.Close(ctx); err != nil {
		t.Error(err)
	}
	var e *mooring.Error
	if _, err := session.Mark(ctx); !errors.As(err, &e) || e.Code != codes.NotFound || e.Reason != v1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND {
		t.Error(err)
	}

	batch.Session = ""
	done, err := client.Schedule(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, each := range done.Placements {
		if !each.OK() || each.Node != tried.Placements[i].Node {
			t.Errorf("%+v in the live cluster, %+v in the session", each, tried.Placements[i])
		}
	}
	first := mooring.Reference{Namespace: "default", Name: "many-0", UID: "u0"}
	outcome, err := client.Bind(ctx, first, done.Placements[0].Node, "")
	if err != nil || outcome != v1.CommitOutcome_COMMIT_OUTCOME_LOCAL {
		t.Error(outcome, err)
	}
	kept, err := client.ListReservations(ctx)
	if err != nil || len(kept) != 99 {
		t.Error(len(kept), err)
	}
	ended, err := client.Unreserve(ctx, pods.UIDs[1:]...)
	if err != nil || len(ended) != 99 || !ended[98].Released {
		t.Error(ended, err)
	}
	if again, err := client.Schedule(ctx, mooring.Batch{Mode: batch.Mode, Pods: []mooring.Pods{{
		Template: pods.Template, UIDs: pods.UIDs[:1], Names: pods.Names[:1],
	}}}); err != nil || again.Placements[0].Outcome != v1.CommitOutcome_COMMIT_OUTCOME_ALREADY_BOUND {
		t.Error(again, err)
	}
	if _, err := client.Bind(ctx, first, "nowhere", ""); !errors.As(err, &e) || e.Reason == 0 || e.Repeatable {
		t.Error(err)
	}
}

// TestTheClientOfTheREADME runs the program that the README shows.
func TestTheClientOfTheREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/first/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("README.md shows another program than examples/first")
	}
	address := sample(t, "127.0.0.1:0")
	for _, each := range []struct{ arguments, expected string }{
		{"./examples/first " + address, `^web-1 \S+ \nweb-2 \S+ \n$`},
		{"./examples/whatif " + address + " 12", `^room for \d+ more pods\n(?s:.*)large: 1 nodes leave \d pods over\n(?s:.*)fits on `},
	} {
		run := exec.Command("go", append([]string{"run"}, strings.Fields(each.arguments)...)...)
		run.Stderr = os.Stderr
		output, err := run.Output()
		if err != nil || !regexp.MustCompile(each.expected).Match(output) {
			t.Errorf("go run %s: %v\n%s", each.arguments, err, output)
		}
	}
}
