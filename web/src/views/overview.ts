import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";

import type { GetClusterInfoResponseJson } from "../contract/mooring/v1/cluster_service_pb";
import type { DecisionJson, ReasonGroupJson, SummarizeReasonsResponseJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import { age, amount, counted, seconds } from "../matrix/amounts";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { shared } from "../styles";
import "./time_line";
import { type Cause, causes, groupStyles, owner, reason } from "./reasons";

const EVERY = 5_000;
const ASK_EVERY = 60_000;
const STALE_SECONDS = 30;
const LOOKED_AT = 1_000;
const REASONS = { askNow: true, advise: true, limit: 1_000 };
/** The causes that are shown at first, and the owners of each. */
const TOP = 10;
const OWNERS = 3;

/** Is it well, and what needs attention. */
@customElement("mooring-overview")
export class Overview extends LitElement {
  @state() private all = false;
  private readonly info = new Loader<GetClusterInfoResponseJson>(this, (signal) => call("ClusterService/GetClusterInfo", {}, signal), {
    every: EVERY,
  });
  private readonly reasons = new Loader<SummarizeReasonsResponseJson>(
    this,
    (signal) => call("DecisionService/SummarizeReasons", REASONS, signal),
    // Asks a process that makes no decisions itself to decide now, which takes up to two seconds.
    { every: (): number => (this.reasons.value?.askedCount && !this.reasons.value.unexplainedCount ? ASK_EVERY : EVERY) },
  );
  private readonly latest = new Loader<DecisionJson[]>(this, latest, { every: EVERY });

  static override styles = [
    shared,
    groupStyles,
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
        overflow-wrap: anywhere;
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
                .copies=${copiesOf("mooring why-pending", "DecisionService/SummarizeReasons", REASONS)}
              ></mooring-copy>`
            : nothing}
        </div>
        ${this.reasons.show((found) => this.causes(found))}
      </section>
      <mooring-time-line></mooring-time-line>
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

  private causes({ groups = [], groupCount = 0, askedCount = 0, unexplainedCount = 0 }: SummarizeReasonsResponseJson): TemplateResult {
    if (!groups.length && !unexplainedCount) return html`<p class="card">✓ No pod waits for a node.</p>`;
    const found = causes(groups);
    const shown = this.all ? found : found.slice(0, TOP);
    return html`${askedCount
        ? html`<p class="quiet">${counted(askedCount, "pod")} evaluated now, each by itself: no decision about them is remembered.</p>`
        : nothing}
      <ul class="groups">
        ${shown.map(cause)}
      </ul>
      ${found.length > TOP
        ? html`<p>
            <button aria-expanded=${this.all} @click=${() => (this.all = !this.all)}>
              ${this.all ? `Show the ${TOP} with the most pods` : `Show ${counted(found.length - TOP, "more cause")}`}
            </button>
          </p>`
        : nothing}
      ${groupCount > groups.length ? html`<p class="quiet">… and ${counted(groupCount - groups.length, "more owner")} with fewer pods</p>` : nothing}
      ${unexplainedCount
        ? html`<p class="quiet">
            … and ${counted(unexplainedCount, "more pod")} without a node, not evaluated yet.
            <a href=${link(["pods"], { show: "pending" })}>Ask about one</a>
          </p>`
        : nothing}`;
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

function cause({ groups, podCount }: Cause): TemplateResult {
  const first = groups.slice(0, OWNERS);
  const rest = groups.slice(OWNERS);
  return html`<li class="card group">
    <div>
      <div class="count">${amount(podCount)}</div>
      <div class="quiet">${podCount === 1 ? "pod" : "pods"}</div>
    </div>
    <div class="stack tight">
      ${reason(groups[0]!)}
      <div>${first.map(owner)}</div>
      ${rest.length ? html`<details><summary>${counted(rest.length, "more owner")}</summary>${rest.map(owner)}</details>` : nothing}
    </div>
    ${trend(groups)}
  </li>`;
}

function tile(name: string, value: TemplateResult, more: TemplateResult[]): TemplateResult {
  return html`<div class="card tile">
    <dt>${name}</dt>
    <dd>${value}</dd>
    ${more.map((text) => html`<dd class="quiet">${text}</dd>`)}
  </div>`;
}

function trend(found: ReasonGroupJson[]): TemplateResult | typeof nothing {
  const trends = found.flatMap(({ trend: one = [], lastSeq }) => (lastSeq ? [one] : []));
  const counts = (trends[0] ?? []).map((_, at) => trends.reduce((sum, one) => sum + (one[at] ?? 0), 0));
  if (!counts.length) return nothing;
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => `${index},${1 - count / most}`).join(" ");
  return html`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1, counts.length - 1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${points} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${amount(counts[0] ?? 0)} → ${amount(counts.at(-1) ?? 0)}</figcaption>
  </figure>`;
}
