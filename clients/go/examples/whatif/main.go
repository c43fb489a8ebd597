// Command whatif asks mooring what would happen, in a session of its own: nothing that is done in it shows outside.
//
// It lets a pod wait in the session, and asks how many like it there is room for, which nodes could go, which more nodes
// would give it a place, and what would have to change for it to fit, and for a group of such pods.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mooring.dev/go/mooring"
	"mooring.dev/go/mooring/mooringv1"
)

type manifest map[string]any

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: whatif HOST:PORT CPU")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "whatif:", err)
		os.Exit(1)
	}
}

func run(address, cpu string) error {
	connection, err := mooring.New(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := mooringv1.NewSimulationServiceClient(connection)
	// A session may have other feature gates than the server: this one is for groups, by the rules of Kubernetes 1.37.
	opened, err := client.OpenSession(ctx, &mooringv1.OpenSessionRequest{
		KubeVersion: "1.37", FeatureGates: map[string]bool{"GenericWorkload": true},
	})
	if err != nil {
		return fmt.Errorf("OpenSession: %w", err)
	}
	session := opened.Session.Id
	defer client.CloseSession(ctx, &mooringv1.CloseSessionRequest{Session: session})
	if err := ask(ctx, client, session, cpu); err != nil {
		return err
	}
	return askGroup(ctx, client, session, cpu)
}

func ask(ctx context.Context, client mooringv1.SimulationServiceClient, session, cpu string) error {
	waiting := object(pod("waiting", cpu))
	if err := put(ctx, client, session, waiting); err != nil {
		return err
	}

	room, err := client.EstimateCapacity(ctx, &mooringv1.EstimateCapacityRequest{
		Session: session, Shapes: []*mooringv1.PodSource{source(object(pod("web", "1")))},
	})
	if err != nil {
		return fmt.Errorf("EstimateCapacity: %w", err)
	}
	fmt.Printf("room for %d more pods\n", room.Shapes[0].Count)

	removal, err := client.PlanRemoval(ctx, &mooringv1.PlanRemovalRequest{Session: session})
	if err != nil {
		return fmt.Errorf("PlanRemoval: %w", err)
	}
	for _, each := range removal.Nodes {
		if each.Removable {
			fmt.Println(each.Node, "can go")
			continue
		}
		last := each.Landings[len(each.Landings)-1]
		fmt.Printf("%s stays: %s\n", each.Node, last.Verdict.GetMessage())
	}

	price := 2.5
	groups, err := client.PlanNodeGroups(ctx, &mooringv1.PlanNodeGroupsRequest{
		Session: session,
		Groups:  []*mooringv1.NodeGroup{{Name: "large", Node: object(node("16")), Price: &price}},
	})
	if err != nil {
		return fmt.Errorf("PlanNodeGroups: %w", err)
	}
	for _, each := range groups.Options {
		fmt.Printf("%s: %d nodes leave %d pods over\n", each.Group, each.NodeCount, len(each.LeftOver))
	}

	change, err := client.SuggestChanges(ctx, &mooringv1.SuggestChangesRequest{Session: session, Pod: source(waiting)})
	if err != nil {
		return fmt.Errorf("SuggestChanges: %w", err)
	}
	for _, option := range change.Options {
		fmt.Printf("fits on %s after: %s\n", option.Node, kinds(option.Steps))
	}
	return nil
}

// askGroup asks what would make a group fit: its pods get nodes together, or none does.
func askGroup(ctx context.Context, client mooringv1.SimulationServiceClient, session, cpu string) error {
	objects := []*mooringv1.KubernetesObject{object(podGroup("train", 2))}
	for _, name := range []string{"train-0", "train-1"} {
		member := pod(name, cpu)
		member["spec"].(manifest)["schedulingGroup"] = manifest{"podGroupName": "train"}
		objects = append(objects, object(member))
	}
	if err := put(ctx, client, session, objects...); err != nil {
		return err
	}

	group := &mooringv1.GroupToSchedule{Namespace: "default", Name: "train"}
	change, err := client.SuggestChanges(ctx, &mooringv1.SuggestChangesRequest{Session: session, Group: group})
	if err != nil {
		return fmt.Errorf("SuggestChanges: %w", err)
	}
	for _, option := range change.Options {
		var nodes []string
		for _, landing := range option.Landings {
			nodes = append(nodes, landing.Node)
		}
		slices.Sort(nodes)
		fmt.Printf("the group fits on %s after: %s\n", strings.Join(nodes, " and "), kinds(option.Steps))
	}
	return nil
}

// put adds objects to the session.
func put(
	ctx context.Context, client mooringv1.SimulationServiceClient, session string, objects ...*mooringv1.KubernetesObject,
) error {
	change := &mooringv1.SessionChange{Change: &mooringv1.SessionChange_Put{Put: &mooringv1.PutObjects{Objects: objects}}}
	request := &mooringv1.ChangeSessionRequest{Session: session, Changes: []*mooringv1.SessionChange{change}}
	if _, err := client.ChangeSession(ctx, request); err != nil {
		return fmt.Errorf("ChangeSession: %w", err)
	}
	return nil
}

// kinds names the changes by their fields in the contract.
func kinds(steps []*mooringv1.ChangeStep) string {
	var names []string
	for _, step := range steps {
		message := step.ProtoReflect()
		one := message.Descriptor().Oneofs().ByName("step")
		names = append(names, string(message.WhichOneof(one).Name()))
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func pod(name, cpu string) manifest {
	container := manifest{"name": "web", "image": "web:1", "resources": manifest{"requests": manifest{"cpu": cpu}}}
	return manifest{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": manifest{"name": name, "namespace": "default", "uid": name},
		"spec":     manifest{"containers": []manifest{container}},
	}
}

func podGroup(name string, minCount int) manifest {
	return manifest{
		"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
		"metadata": manifest{"name": name, "namespace": "default", "uid": name},
		"spec":     manifest{"schedulingPolicy": manifest{"gang": manifest{"minCount": minCount}}},
	}
}

func node(cpu string) manifest {
	return manifest{
		"apiVersion": "v1", "kind": "Node",
		"metadata": manifest{"name": "template"},
		"status":   manifest{"allocatable": manifest{"cpu": cpu, "memory": "8Gi", "pods": "110"}},
	}
}

func object(from manifest) *mooringv1.KubernetesObject {
	encoded, err := json.Marshal(from)
	if err != nil {
		panic(err) // strings and maps can be encoded
	}
	return &mooringv1.KubernetesObject{Encoding: &mooringv1.KubernetesObject_Json{Json: encoded}}
}

func source(object *mooringv1.KubernetesObject) *mooringv1.PodSource {
	return &mooringv1.PodSource{Source: &mooringv1.PodSource_Object{Object: object}}
}
