// Command composed schedules one pod through mooring, one extension point after the other, and binds it.
//
// It calls Filter, Score and NormalizeScore, adds the weighted scores up itself, and checks that the outcome is what
// Schedule (as a dry run) says: the same highest total, reached by the same nodes. Then it calls Bind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mooring.dev/go/mooring"
	"mooring.dev/go/mooring/mooringv1"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: composed HOST:PORT NAMESPACE NAME UID")
		os.Exit(2)
	}
	pod := &mooringv1.PodReference{Namespace: os.Args[2], Name: os.Args[3], Uid: os.Args[4]}
	if err := run(os.Args[1], pod); err != nil {
		fmt.Fprintln(os.Stderr, "composed:", err)
		os.Exit(1)
	}
}

func run(address string, pod *mooringv1.PodReference) error {
	connection, err := mooring.New(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := mooringv1.NewSchedulingServiceClient(connection)

	whole, err := schedule(ctx, client, pod)
	if err != nil {
		return fmt.Errorf("Schedule: %w", err)
	}
	composed, err := compose(ctx, client, pod)
	if err != nil {
		return err
	}
	if err := compare(composed, whole); err != nil {
		return err
	}
	if len(composed.best) == 0 {
		fmt.Println("no node is feasible:", whole.message)
		return nil
	}
	composed.print(whole.node)
	answer, err := client.Bind(ctx, &mooringv1.BindRequest{Pod: pod, Node: whole.node})
	if err != nil {
		return fmt.Errorf("Bind: %w", err)
	}
	fmt.Printf("%s/%s -> %s: %s\n", pod.Namespace, pod.Name, whole.node, answer.Outcome)
	return nil
}

// decision is what Schedule says about the pod.
type decision struct {
	node    string // empty if there is none
	total   int64
	ties    []string
	message string
}

func schedule(ctx context.Context, client mooringv1.SchedulingServiceClient, pod *mooringv1.PodReference) (decision, error) {
	answer, err := client.Schedule(ctx, &mooringv1.ScheduleRequest{
		Templates:   []*mooringv1.PodTemplate{{Pod: source(pod)}},
		CommitMode:  mooringv1.CommitMode_COMMIT_MODE_DRY_RUN,
		IncludeTies: true,
	})
	if err != nil {
		return decision{}, err
	}
	verdict := answer.Verdicts[answer.PodVerdicts[0]]
	if verdict.Code != mooringv1.VerdictCode_VERDICT_CODE_SUCCESS {
		return decision{message: verdict.Message}, nil
	}
	return decision{
		node:  answer.Nodes.GetNames().GetNames()[0],
		total: answer.Totals[0],
		ties:  answer.Ties[0].GetNames().GetNames(),
	}, nil
}

// composition is what the calls one by one add up to. Every slice follows feasible.
type composition struct {
	feasible []string
	plugins  []*mooringv1.PluginScores
	totals   []int64
	best     []string
}

func compose(ctx context.Context, client mooringv1.SchedulingServiceClient, pod *mooringv1.PodReference) (*composition, error) {
	filtered, err := client.Filter(ctx, &mooringv1.FilterRequest{Pod: source(pod)})
	if err != nil {
		return nil, fmt.Errorf("Filter: %w", err)
	}
	result := &composition{feasible: feasible(filtered)}
	if len(result.feasible) < 2 { // Schedule does not score a single node either
		result.best = result.feasible
		result.totals = make([]int64, len(result.feasible))
		return result, nil
	}
	nodes := &mooringv1.NodeSelection{
		Selection: &mooringv1.NodeSelection_Names{Names: &mooringv1.NodeNames{Names: result.feasible}},
	}
	scored, err := client.Score(ctx, &mooringv1.ScoreRequest{Pod: source(pod), Nodes: nodes})
	if err != nil {
		return nil, fmt.Errorf("Score: %w", err)
	}
	normalized, err := client.NormalizeScore(ctx, &mooringv1.NormalizeScoreRequest{
		Pod: source(pod), Nodes: nodes, Plugins: scored.Plugins,
	})
	if err != nil {
		return nil, fmt.Errorf("NormalizeScore: %w", err)
	}
	result.plugins = normalized.Plugins
	result.add()
	return result, nil
}

// feasible reads the names of the nodes whose verdict is the first one, which is always success.
func feasible(answer *mooringv1.FilterResponse) []string {
	names := answer.Nodes.GetNames().GetNames()
	verdicts := answer.Verdicts.GetNodeVerdicts()
	if len(verdicts) == 0 {
		return names
	}
	var kept []string
	for i, verdict := range verdicts {
		if verdict == 0 {
			kept = append(kept, names[i])
		}
	}
	return kept
}

// add sums the weighted scores per node and finds the nodes with the highest sum.
func (c *composition) add() {
	c.totals = make([]int64, len(c.feasible))
	for _, plugin := range c.plugins {
		for i, score := range plugin.Weighted {
			c.totals[i] += score
		}
	}
	highest := slices.Max(c.totals)
	for i, total := range c.totals {
		if total == highest {
			c.best = append(c.best, c.feasible[i])
		}
	}
}

func (c *composition) print(selected string) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	header := []string{"NODE"}
	for _, plugin := range c.plugins {
		header = append(header, plugin.Plugin)
	}
	fmt.Fprintln(table, strings.Join(append(header, "TOTAL", ""), "\t"))
	for i, name := range c.feasible {
		row := []string{name}
		for _, plugin := range c.plugins {
			row = append(row, fmt.Sprint(plugin.Weighted[i]))
		}
		mark := ""
		if name == selected {
			mark = "selected"
		}
		fmt.Fprintln(table, strings.Join(append(row, fmt.Sprint(c.totals[i]), mark), "\t"))
	}
	table.Flush()
}

// compare says how the two answers differ. Which of several best nodes Schedule takes is its own choice.
func compare(composed *composition, whole decision) error {
	if len(composed.best) == 0 && whole.node == "" {
		return nil
	}
	slices.Sort(composed.best)
	slices.Sort(whole.ties)
	if !slices.Equal(composed.best, whole.ties) {
		return fmt.Errorf("the best nodes are %v one by one, but %v by Schedule", composed.best, whole.ties)
	}
	if highest := slices.Max(composed.totals); highest != whole.total {
		return fmt.Errorf("the highest total is %d one by one, but %d by Schedule", highest, whole.total)
	}
	if !slices.Contains(composed.best, whole.node) {
		return errors.New("Schedule selected " + whole.node + ", which is not among the best")
	}
	return nil
}

func source(pod *mooringv1.PodReference) *mooringv1.PodSource {
	return &mooringv1.PodSource{Source: &mooringv1.PodSource_Reference{Reference: pod}}
}
