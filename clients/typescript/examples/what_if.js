// Asks what would happen, in a session of its own: nothing that is done in it shows outside.
//
//     node examples/what_if.js 127.0.0.1:50051 16
//
// How many pods fit? Which nodes could go? What would have to change for a pod with that much CPU to fit?

import { Client, podSource } from "mooring-client";
import { SimulationService } from "mooring-client/contract";

const { estimateCapacity, planRemoval, suggestChanges } = SimulationService.method;

function pod(name, cpu) {
  const containers = [{ name: "web", image: "web:1", resources: { requests: { cpu } } }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: name }, spec: { containers } };
}

const [address, cpu] = process.argv.slice(2);
const client = new Client(address);
const session = await client.openSession();
try {
  const waiting = pod("waiting", cpu);
  await session.change({ put: [waiting] });

  const { shapes } = await client.call(estimateCapacity, { session: session.id, shapes: [podSource(pod("web", "1"))] });
  console.log(`room for ${shapes[0].count} more pods`);

  const { nodes } = await client.call(planRemoval, { session: session.id });
  for (const { node, removable, landings } of nodes) {
    console.log(removable ? `${node} can go` : `${node} stays: ${landings.at(-1)?.verdict?.message}`);
  }

  const { options } = await client.call(suggestChanges, { session: session.id, pod: podSource(waiting) });
  for (const { node, steps } of options) {
    console.log(`fits on ${node} after: ${steps.map(({ step }) => step.case).join(", ") || "nothing"}`);
  }
} finally {
  await session.close();
  client.close();
}
