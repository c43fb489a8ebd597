/** The same question in other forms: for a terminal, a script, a colleague. */

import type { Copy } from "../elements/copy";
import { address, call, clusterFlags, type Methods, methodPath, serverAddress } from "./gateway";
import { quoted } from "./words";

/**
 * Returns what "copy as" offers for a call: the command, if there is one, the call over gRPC and HTTP, and the answer as JSON. Each
 * asks the process that the page looks at.
 */
export function copiesOf<Name extends keyof Methods>(command: string, method: Name, request: Methods[Name][0]): Copy[] {
  const body = quoted(JSON.stringify(request));
  const curl = `curl -s ${quoted(address(methodPath(method)))} -H 'content-type: application/json' -d ${body}`;
  return [
    ...(command ? [{ name: "CLI", text: () => commandLine(command) }] : []),
    { name: "JSON", text: async () => JSON.stringify(await call(method, request), undefined, 2) },
    { name: "gRPC", text: () => `grpcurl -plaintext -d ${body} ${serverAddress()} mooring.v1.${method}` },
    { name: "curl", text: curl },
  ];
}

/** Returns a command with the flags that let it ask the same cluster. */
export function commandLine(command: string): string {
  return [command, ...clusterFlags()].join(" ");
}
