// Asks mooring what would happen, in a session of its own: nothing that is done in it shows outside.
//
// It lets a pod wait in the session, and asks how many like it there is room for, which nodes could go, which more nodes
// would give it a place, and what would have to change for it to fit, and for a group of such pods.

import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const PROTOS = fileURLToPath(new URL("../../../../protos", import.meta.url));
const DEADLINE_MS = 10_000;

const json = (manifest) => ({ json: Buffer.from(JSON.stringify(manifest)) });

function pod(name, cpu, more = {}) {
  const containers = [{ name: "web", image: "web:1", resources: { requests: { cpu } } }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: name }, spec: { containers, ...more } };
}

function podGroup(name, minCount) {
  const spec = { schedulingPolicy: { gang: { minCount } } };
  return { apiVersion: "scheduling.k8s.io/v1beta1", kind: "PodGroup", metadata: { name, namespace: "default", uid: name }, spec };
}

function node(cpu) {
  const status = { allocatable: { cpu, memory: "8Gi", pods: "110" } };
  return { apiVersion: "v1", kind: "Node", metadata: { name: "template" }, status };
}

// Returns a function that makes a call and gives a promise. 64-bit numbers are decimal strings.
function connect(address) {
  const options = { includeDirs: [PROTOS], longs: String, enums: String, defaults: true, oneofs: true };
  const definition = protoLoader.loadSync("mooring/v1/simulation_service.proto", options);
  const { SimulationService } = grpc.loadPackageDefinition(definition).mooring.v1;
  const client = new SimulationService(address, grpc.credentials.createInsecure());
  return async (method, request) => {
    try {
      return await promisify(client[method]).call(client, request, { deadline: Date.now() + DEADLINE_MS });
    } catch (error) {
      throw new Error(`${method}: ${error.message}`, { cause: error });
    }
  };
}

async function ask(call, session, cpu) {
  const waiting = { object: json(pod("waiting", cpu)) };
  await call("ChangeSession", { session, changes: [{ put: { objects: [waiting.object] } }] });

  const { shapes } = await call("EstimateCapacity", { session, shapes: [{ object: json(pod("web", "1")) }] });
  console.log(`room for ${shapes[0].count} more pods`);

  const { nodes } = await call("PlanRemoval", { session });
  for (const each of nodes) {
    const why = each.landings.at(-1)?.verdict?.message;
    console.log(each.removable ? `${each.node} can go` : `${each.node} stays: ${why}`);
  }

  const groups = [{ name: "large", node: json(node("16")), price: 2.5 }];
  const { options } = await call("PlanNodeGroups", { session, groups });
  for (const each of options) {
    console.log(`${each.group}: ${each.nodeCount} nodes leave ${each.leftOver.length} pods over`);
  }

  const change = await call("SuggestChanges", { session, pod: waiting });
  for (const option of change.options) {
    console.log(`fits on ${option.node} after: ${kinds(option.steps)}`);
  }
}

// Asks what would make a group fit: its pods get nodes together, or none does.
async function askGroup(call, session, cpu) {
  const members = ["train-0", "train-1"].map((name) => pod(name, cpu, { schedulingGroup: { podGroupName: "train" } }));
  const objects = [podGroup("train", members.length), ...members].map(json);
  await call("ChangeSession", { session, changes: [{ put: { objects } }] });

  const change = await call("SuggestChanges", { session, group: { namespace: "default", name: "train" } });
  for (const option of change.options) {
    const where = option.landings.map((landing) => landing.node).sort();
    console.log(`the group fits on ${where.join(" and ")} after: ${kinds(option.steps)}`);
  }
}

// Names changes by their fields in the contract.
const kinds = (steps) => steps.map((step) => step.step).join(", ") || "nothing";

const [address, cpu, ...rest] = process.argv.slice(2);
if (!cpu || rest.length > 0) {
  console.error("usage: node what-if.js HOST:PORT CPU");
  process.exitCode = 2;
} else {
  const call = connect(address);
  try {
    // A session may have other feature gates than the server: this one is for groups, by the rules of Kubernetes 1.37.
    const { session } = await call("OpenSession", { kubeVersion: "1.37", featureGates: { GenericWorkload: true } });
    try {
      await ask(call, session.id, cpu);
      await askGroup(call, session.id, cpu);
    } finally {
      await call("CloseSession", { session: session.id });
    }
  } catch (error) {
    console.error(`what-if: ${error.message}`);
    process.exitCode = 1;
  }
}
