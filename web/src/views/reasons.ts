/** Groups of pods that wait for the same reason, in words. */

import { css, html, nothing, type TemplateResult } from "lit";

import type { ReasonGroupJson } from "../contract/mooring/v1/decision_service_pb";
import { nextStep } from "../matrix/advice";
import { age, amount, counted } from "../matrix/amounts";
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

/** Returns the groups by their cause, that with the most pods first. Amounts in a reason don't make it another cause. */
export function causes(groups: readonly ReasonGroupJson[]): Cause[] {
  const found = new Map<string, Cause>();
  for (const group of groups) {
    const key = [group.result, group.reason?.plugin, group.reason?.reason ?? group.message].join("\0");
    const cause = found.get(key) ?? { groups: [], podCount: 0 };
    cause.groups.push(group);
    cause.podCount += group.podCount ?? 0;
    found.set(key, cause);
  }
  return [...found.values()].sort((a, b) => b.podCount - a.podCount);
}

/** Returns why the pods wait, and what to do. */
export function reason(one: ReasonGroupJson): TemplateResult {
  const nodes = one.reason?.nodeCount ? ` on ${counted(one.reason.nodeCount, "node")}` : "";
  if (one.result === "DECISION_RESULT_SCHEDULED") return html`<p><span class="good">✓</span> ${one.message}${nodes}</p>`;
  return html`<p><span class="bad">✕</span> <strong>${rejection(one.reason) || one.message}</strong>${nodes}</p>
    <p>→ ${one.advice?.text ?? nextStep(one.reason?.plugin, one.reason?.reason)}</p>`;
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
