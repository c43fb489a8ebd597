import { Client } from "mooring-client";

const client = new Client(process.argv[2] ?? "127.0.0.1:50051");
const web = { name: "web", resources: { requests: { cpu: "100m" } } };
const template = { metadata: { name: "web", namespace: "default" }, spec: { containers: [web] } };
for (const { uid, node, verdict } of await client.schedule({ template, uids: ["web-1", "web-2"] })) {
  console.log(uid, node ?? verdict.message);
}
client.close();
