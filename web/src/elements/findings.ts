/** What is in the way of a pod, one entry for each finding. */

import { css, html, nothing, type TemplateResult } from "lit";

import type { FindingJson, HolderJson } from "../contract/mooring/v1/findings_pb";
import { counted } from "../matrix/amounts";
import { causeOf, factsOf, isPod, measured } from "../matrix/findings";

/** Where a pod, given as NAMESPACE/NAME, and a reason code are explained; none where there is no page around. */
export interface Links {
  pod: (key: string) => string;
  code: (code: string) => string;
}

export const findingStyles = css`
  .findings {
    list-style: none;
  }
  .findings > li {
    padding: var(--s2) 0;
    border-top: 1px solid var(--line);
    overflow-wrap: anywhere;
  }
`;

/** Returns a list of findings; those with `nodes` say of how many nodes they are. */
export function findingList(findings: readonly (FindingJson & { nodes?: number })[], links?: Links): TemplateResult {
  return html`<ul class="findings">
    ${findings.map((finding) => html`<li>${entry(finding, links)}</li>`)}
  </ul>`;
}

function entry(finding: FindingJson & { nodes?: number }, links: Links | undefined): TemplateResult {
  const { plugin = "", message = "", podChange = "", nodeChange = "" } = finding;
  const facts = factsOf(finding);
  return html`<p><span class="bad">✕</span> <strong>${plugin || "mooring"}</strong>: ${message} ${code(finding, links)}
      ${finding.nodes ? html`<span class="quiet">on ${counted(finding.nodes, "node")}</span>` : nothing}</p>
    ${facts ? html`<p class="quiet">${facts}</p>` : nothing} ${holders(finding, links)}
    ${podChange ? html`<p>→ ${podChange}</p>` : nothing} ${nodeChange ? html`<p>→ ${podChange ? "or " : nothing}${nodeChange}</p>` : nothing}`;
}

function code(finding: FindingJson, links: Links | undefined): TemplateResult | typeof nothing {
  const cause = causeOf(finding);
  if (!cause) return nothing;
  return links && !finding.customCode ? html`<a class="mono" href=${links.code(cause)}>${cause}</a>` : html`<span class="quiet mono">${cause}</span>`;
}

function holders(finding: FindingJson, links: Links | undefined): TemplateResult | typeof nothing {
  const { holders: known = [], otherHolderCount: more = 0 } = finding;
  if (!known.length) return nothing;
  return html`<p>
    <span class="quiet">held by</span> ${known.map((holder, at) => html`${at ? ", " : nothing}${named(finding, holder, links)}`)}${more
      ? html` <span class="quiet">and ${more} more</span>`
      : nothing}
  </p>`;
}

function named(finding: FindingJson, holder: HolderJson, links: Links | undefined): TemplateResult {
  const { name = "", amount, note = "", node = "" } = holder;
  const takes = amount === undefined ? "" : measured(finding, amount);
  const about = [...new Set([takes, note, node && `on ${node}`])].filter(Boolean).join(", ");
  const text = links && isPod(holder) ? html`<a href=${links.pod(name)}>${name}</a>` : name;
  return html`${text}${about ? html` <span class="quiet">(${about})</span>` : nothing}`;
}
