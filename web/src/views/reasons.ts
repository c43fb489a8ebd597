/** Groups of pods that wait for the same reason, in words. */

import { css, html, nothing, type TemplateResult } from "lit";

import type { ReasonGroupJson } from "../contract/mooring/v1/decision_service_pb";
import { age, amount, counted } from "../matrix/amounts";
import { causeOf } from "../matrix/findings";
import { LINKS } from "../page/advice";
import { link } from "../page/route";
import { podName, rejection } from "../page/words";
import { ownerLink, podLink } from "./pod_list";

export const groupStyles = css`
  .groups {
    list-style: none;
    display: grid;
    gap: var(--s3);
  }
  .groups p {
    overflow-wrap: anywhere;
  }
`;

/** Groups whose pods wait for one cause. */
export interface Cause {
  groups: ReasonGroupJson[];
  podCount: number;
}

/** Returns the groups by their cause, that with the most pods first: by its code, or by its words if it has none. */
export function causes(groups: readonly ReasonGroupJson[]): Cause[] {
  const found = new Map<string, Cause>();
  for (const group of groups) {
    const { plugin, reason: words, code } = group.reason ?? {};
    const key = [group.result, plugin, code ?? words ?? group.message].join("\0");
    const cause = found.get(key) ?? { groups: [], podCount: 0 };
    cause.groups.push(group);
    cause.podCount += group.podCount ?? 0;
    found.set(key, cause);
  }
  return [...found.values()].sort((a, b) => b.podCount - a.podCount);
}

/** Returns why the pods wait, and what to do. */
export function reason(one: ReasonGroupJson): TemplateResult {
  const nodes = one.reason?.nodeCount ? counted(one.reason.nodeCount, "node") : "";
  if (one.result === "DECISION_RESULT_SCHEDULED") return html`<p><span class="good">✓</span> ${one.message}${nodes && ` (${nodes} would do)`}</p>`;
  return html`<p><span class="bad">✕</span> <strong>${rejection(one.reason) || one.message}</strong>${nodes && ` on ${nodes}`} ${codeLink(one)}</p>
    ${nodes || one.advice ? html`<p>→ ${way(one)}</p>` : nothing}`;
}

function codeLink({ reason: found }: ReasonGroupJson): unknown {
  const cause = causeOf({ code: found?.code });
  return cause ? html`<a class="mono" href=${LINKS.code(cause)}>${cause}</a>` : nothing;
}

/** Returns what would help the first of the pods, as far as the server knows. */
function way({ advice, advicePartial = false, nominatedCount = 0, examples: [first] = [], controllerKind, podCount = 0 }: ReasonGroupJson): unknown {
  // Pods without an owner need not be alike: the advice is about the first one.
  const whom = controllerKind || podCount === 1 ? nothing : html`for <a href=${podLink(first)}>${podName(first)}</a>: `;
  if (advice) return html`${whom}${advice.text}${advicePartial ? html` <span class="quiet">there was no time to try everything</span>` : nothing}`;
  if (nominatedCount) return `room is being made for ${counted(nominatedCount, "pod")}: victims have to end`;
  if (!advicePartial) return "no set of changes was found with which it fits";
  return html`there was no time to look for a way out: <a href=${podLink(first)}>ask for the fewest changes</a>`;
}

/** Returns the owner of a group's pods, with how many there are and some of them. */
export function owner(one: ReasonGroupJson): TemplateResult {
  const { namespace = "", controllerKind: kind, controllerName: name, examples = [], podCount = 0 } = one;
  return html`<p>
    ${kind ? html`<a href=${ownerLink(namespace, kind, name)}>${kind} ${namespace}/${name}</a>` : html`Pods of ${namespace}`}
    <span class="quiet"
      >· ${counted(podCount, "pod")}${one.oldestTime ? `, oldest ${age(one.oldestTime)}` : ""}:</span
    >
    ${examples.map((pod, at) => html`${at ? ", " : nothing}<a href=${podLink(pod)}>${podName(pod)}</a>`)}${podCount > examples.length
      ? html` <span class="quiet">and ${amount(podCount - examples.length)} more</span>`
      : nothing}
    ${one.lastSeq ? html`<span class="quiet">·</span> <a href=${link(["decisions", one.lastSeq])}>newest decision</a>` : nothing}
  </p>`;
}
