/** The same question in other forms: for a terminal, a script, a colleague. */

import type { Copy } from "../elements/copy";
import { address, methodPath } from "./gateway";
import { quoted } from "./words";

/** Returns what "copy as" offers for a call: the command, the answer as JSON, and curl. */
export function copiesOf(command: string, method: string, request: unknown, answer: unknown): Copy[] {
  const curl = `curl -s ${quoted(address(methodPath(method)))} -H 'content-type: application/json' -d ${quoted(JSON.stringify(request))}`;
  return [
    { name: "CLI", text: command },
    { name: "JSON", text: JSON.stringify(answer, undefined, 2) },
    { name: "curl", text: curl },
  ];
}
