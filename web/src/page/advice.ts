/** The server's advice, and where findings link to. */

import type { PodSourceJson } from "../contract/mooring/v1/objects_pb";
import type { Advice } from "../elements/decision";
import type { Links } from "../elements/findings";
import { call } from "./gateway";
import { link } from "./route";

/** How long the server looks; most advice is remembered. */
const TIME_LIMIT = "0.15s";

export const LINKS: Links = {
  pod: (key) => link(["pods", ...key.split("/")]),
  code: (code) => link(["codes", code]),
};

/**
 * Returns the cheapest set of changes with which the pod fits; undefined if none helps, or none is needed. Its text is empty if the
 * time was over before any was found.
 */
export async function adviceFor(pod: PodSourceJson, session: string, signal?: AbortSignal): Promise<Advice | undefined> {
  // Without advice there still is the explanation.
  const found = await call("SimulationService/SuggestChanges", { pod, session, timeLimit: TIME_LIMIT }, signal).catch(() => undefined);
  if (!found || found.preemptionNode) return undefined;
  const { options: [first] = [], complete = false } = found;
  if (complete && !first?.steps?.length) return undefined;
  return { text: first?.text ?? "", node: first?.node ?? "", complete };
}
