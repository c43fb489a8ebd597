// A client of the Connect protocol asks the page's gateway, as any program may: prints what it was answered.
// Arguments: the contract as a FileDescriptorSet, the base URL, SERVICE/METHOD, the request as JSON.

import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";

const [contract, baseUrl, name, request] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(contract)));
const [service, method] = name.split("/");
const client = createClient(
  registry.getService(`mooring.v1.${service}`),
  createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
);
const { localName, input, output } = registry
  .getService(`mooring.v1.${service}`)
  .methods.find((each) => each.name === method);
let told;
try {
  told = { answer: toJson(output, await client[localName](fromJson(input, JSON.parse(request)), { timeoutMs: 30_000 })) };
} catch (error) {
  const failure = ConnectError.from(error);
  const [detail] = failure.findDetails(registry.getMessage("mooring.v1.CallError"));
  told = { code: failure.code, reason: detail?.reason, message: failure.rawMessage };
}
console.log(JSON.stringify(told));
