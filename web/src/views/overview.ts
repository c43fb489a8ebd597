import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement } from "lit/decorators.js";

import type { GetClusterInfoResponseJson } from "../contract/mooring/v1/cluster_service_pb";
import type { DecisionJson, ReasonGroupJson, SummarizeReasonsResponseJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import { nextStep } from "../matrix/advice";
import { age, amount, counted, seconds } from "../matrix/amounts";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { podName, rejection } from "../page/words";
import { shared } from "../styles";

const EVERY = 5_000;
const ASK_EVERY = 60_000;
const STALE_SECONDS = 30;
const LOOKED_AT = 1_000;

/** Is it well, and what needs attention. */
@customElement("mooring-overview")
export class Overview extends LitElement {
  private readonly info = new Loader<GetClusterInfoResponseJson>(this, (signal) => call("ClusterService/GetClusterInfo", {}, signal), {
    every: EVERY,
  });
  private readonly reasons = new Loader<SummarizeReasonsResponseJson>(
    this,
    (signal) => call("DecisionService/SummarizeReasons", { askNow: true }, signal),
    // Asks a process that makes no decisions itself to decide now, which takes up to two seconds.
    { every: (): number => (this.reasons.value?.askedCount && !this.reasons.value.unexplainedCount ? ASK_EVERY : EVERY) },
  );
  private readonly latest = new Loader<DecisionJson[]>(this, latest, { every: EVERY });

  static override styles = [
    shared,
    css`
      .tiles {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(11rem, 40vw), 1fr));
        gap: var(--s3);
      }
      .tile {
        display: flex;
        flex-direction: column;
        padding: var(--s3) var(--s4);
      }
      .tile dd {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      .tile dt {
        color: var(--quiet);
      }
      .tile dd:nth-of-type(1) {
        font-size: 1.375rem;
        line-height: 1.4;
        font-weight: 600;
        letter-spacing: -0.01em;
      }
      .groups {
        list-style: none;
        display: grid;
        gap: var(--s3);
      }
      .group {
        display: grid;
        grid-template-columns: 5.5rem minmax(0, 1fr) 8rem;
        gap: var(--s1) var(--s4);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
        line-height: 1.3;
      }
      .group p {
        overflow-wrap: anywhere;
      }
      svg {
        display: block;
        width: 100%;
        height: 32px;
        color: var(--bad);
      }
      @media (max-width: 40rem) {
        .group {
          grid-template-columns: 3.5rem minmax(0, 1fr);
        }
        .trend {
          grid-column: 2;
          max-width: 10rem;
        }
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <h1>Overview</h1>
      ${this.info.show((info) => this.tiles(info))}
      <section class="stack tight" aria-labelledby="attention">
        <div class="row between">
          <h2 id="attention">Needs attention</h2>
          ${this.reasons.value
            ? html`<mooring-copy
                .copies=${copiesOf("mooring why-pending", "DecisionService/SummarizeReasons", { askNow: true }, this.reasons.value)}
              ></mooring-copy>`
            : nothing}
        </div>
        ${this.reasons.show(groups)}
      </section>
    </div>`;
  }

  private tiles(info: GetClusterInfoResponseJson): TemplateResult {
    const hash = info.provenance?.configurationHash ?? "";
    const staleness = Math.max(0, ...(info.sources ?? []).map((source) => Number(source.stalenessSeconds ?? 0)));
    const errors = (info.sources ?? []).flatMap((source) => (source.error ? [`${source.name}: ${source.error}`] : []));
    const pending = info.pendingPodCount ?? 0;
    return html`<dl class="tiles">
        ${tile("Cluster state", html`<span class=${info.synced ? "good" : "warn"}>${info.synced ? "✓ synced" : "… reading"}</span>`, [
          staleness > STALE_SECONDS ? html`<span class="warn">⚠ ${seconds(staleness)} old</span>` : this.source(info),
        ])}
        ${tile("Decisions", html`${this.rate()}`, [leadership(info)])}
        ${tile("Pending pods", html`<span class=${pending ? "warn" : "good"}>${pending ? "" : "✓ "}${amount(pending)}</span>`, [
          html`of ${counted(info.podCount ?? 0, "pod")}`,
        ])}
        ${tile("Nodes", html`${amount(info.nodeCount ?? 0)}`, [html`Kubernetes ${info.kubeVersion} rules`])}
        ${tile("Configuration", html`<span class="mono" title=${hash}>${hash.slice(0, 8)}</span>`, [
          html`<a href=${link(["profiles"])}>in force for ${age(info.configurationTime)}</a>`,
          html`mooring ${info.serverVersion}, up ${age(info.startTime)}`,
        ])}
      </dl>
      ${errors.map((error) => html`<p class="failure" role="alert">${error}</p>`)}`;
  }

  private source(info: GetClusterInfoResponseJson): TemplateResult {
    const names = (info.sources ?? []).map((source) => source.name).join(", ");
    return html`<span title=${names}>${names}</span>`;
  }

  private rate(): string {
    const found = this.latest.value;
    if (!found?.length) return found ? "none yet" : "–";
    const passed = (Date.now() - Date.parse(found[0]!.time ?? "")) / 1000;
    const rate = found.length / Math.max(1, passed);
    return rate >= 0.1 ? `${amount(rate)}/s` : `last ${age(found.at(-1)!.time)} ago`;
  }
}

/** Says whether this replica decides, where there are several. */
function leadership({ leads = false, leader = "" }: GetClusterInfoResponseJson): TemplateResult {
  if (!leads) return html`<span class="warn" title=${leader}>⚠ waits: ${leader || "no process"} leads</span>`;
  return html`${leader ? "✓ leads, " : nothing}<a href=${link(["decisions"])}>as they are made</a>`;
}

async function latest(signal: AbortSignal): Promise<DecisionJson[]> {
  return (await call("DecisionService/ListDecisions", { limit: LOOKED_AT }, signal)).decisions ?? [];
}

function tile(name: string, value: TemplateResult, more: TemplateResult[]): TemplateResult {
  return html`<div class="card tile">
    <dt>${name}</dt>
    <dd>${value}</dd>
    ${more.map((text) => html`<dd class="quiet">${text}</dd>`)}
  </div>`;
}

function groups({ groups: found = [], groupCount = 0, askedCount = 0, unexplainedCount = 0 }: SummarizeReasonsResponseJson): TemplateResult {
  if (!found.length && !unexplainedCount) return html`<p class="card">✓ No pod waits for a node.</p>`;
  return html`${askedCount
      ? html`<p class="quiet">${counted(askedCount, "pod")} evaluated now, each by itself: no decision about them is remembered.</p>`
      : nothing}
    <ul class="groups">
      ${found.map(group)}
    </ul>
    ${groupCount > found.length ? html`<p class="quiet">… and ${counted(groupCount - found.length, "more group")}</p>` : nothing}
    ${unexplainedCount
      ? html`<p class="quiet">
          … and ${counted(unexplainedCount, "more pod")} without a node, not evaluated yet.
          <a href=${link(["pods"], { show: "pending" })}>Ask about one</a>
        </p>`
      : nothing}`;
}

function group(one: ReasonGroupJson): TemplateResult {
  const count = one.podCount ?? 0;
  const owner = one.controllerKind ? `${one.controllerKind} ${one.namespace}/${one.controllerName}` : `pods of ${one.namespace}`;
  const nodes = one.reason?.nodeCount ? ` on ${counted(one.reason.nodeCount, "node")}` : "";
  return html`<li class="card group">
    <div>
      <div class="count">${amount(count)}</div>
      <div class="quiet">${count === 1 ? "pod" : "pods"}</div>
    </div>
    <div class="stack tight">
      <p><strong>${owner}</strong> ${one.oldestTime ? html`<span class="quiet">· oldest ${age(one.oldestTime)}</span>` : nothing}</p>
      ${one.result === "DECISION_RESULT_SCHEDULED"
        ? html`<p><span class="good">✓</span> ${one.message}${nodes}</p>`
        : html`<p><span class="bad">✕</span> ${rejection(one.reason) || one.message}${nodes}</p>
            <p>→ ${nextStep(one.reason?.plugin, one.reason?.reason)}</p>`}
      <p class="row">
        ${one.lastSeq ? html`<a href=${link(["decisions", one.lastSeq])}>Newest decision</a>` : nothing}
        ${(one.examples ?? []).map(
          (pod) => html`<a href=${link(["pods", pod.namespace ?? "", pod.name ?? ""])}>${podName(pod)}</a>`,
        )}
      </p>
    </div>
    ${one.lastSeq ? trend(one.trend ?? []) : nothing}
  </li>`;
}

function trend(counts: number[]): TemplateResult {
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => `${index},${1 - count / most}`).join(" ");
  return html`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1, counts.length - 1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${points} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${amount(counts[0] ?? 0)} → ${amount(counts.at(-1) ?? 0)}</figcaption>
  </figure>`;
}
