import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type {
  DecisionFilterJson,
  DecisionJson,
  DecisionResultJson,
  ListDecisionsRequestJson,
  ListDecisionsResponseJson,
} from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import "../elements/grid";
import type { GridColumn } from "../elements/grid";
import { age, amount, counted, duration } from "../matrix/amounts";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { failed } from "../page/loader";
import { link, refine } from "../page/route";
import { outcome, podName, quoted, word } from "../page/words";
import { shared } from "../styles";

/** How many are shown: more are never read, and those before them are a filter away. */
const KEPT = 500;
const LOOKED_AT = 1_000;
const WAIT = "15s";
const PAUSE_MILLISECONDS = 500;
const RETRY_MILLISECONDS = 2_000;

const RESULTS: readonly DecisionResultJson[] = [
  "DECISION_RESULT_SCHEDULED",
  "DECISION_RESULT_UNSCHEDULABLE",
  "DECISION_RESULT_ERROR",
  "DECISION_RESULT_FAILED",
];

const FACETS = [
  ["namespace", "Namespace"],
  ["pod", "Pod"],
  ["selector", "Labels"],
  ["node", "Node"],
  ["profile", "Profile"],
  ["plugin", "Rejected by"],
  ["margin", "Margin at most"],
] as const;

/** Decisions as they are made, the newest first. New ones wait while the list is paused. */
@customElement("mooring-decisions")
export class Decisions extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();

  @state() private shown: DecisionJson[] = [];
  @state() private waiting: DecisionJson[] = [];
  @state() private paused = false;
  @state() private missed = 0;
  @state() private loaded = false;
  @state() private error: Error | undefined;

  private abort = new AbortController();
  private asked: string | undefined;

  static override styles = [
    shared,
    css`
      .facets {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
      }
      .facets > label {
        display: grid;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .facets input,
      .facets select {
        width: 100%;
        color: var(--text);
      }
      mooring-grid {
        --grid-height: calc(100vh - 16rem);
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.abort.abort();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("query") && this.query.toString() !== this.asked) this.begin();
  }

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div class="row between">
        <h1>Decisions</h1>
        <div class="row">
          <span class="quiet" role="status">${this.progress()}</span>
          ${this.waiting.length
            ? html`<button class="primary" @click=${this.take}>Show ${counted(this.waiting.length, "new one")}</button>`
            : nothing}
          <button aria-pressed=${this.paused} @click=${this.pause}>${this.paused ? "Paused" : "Pause"}</button>
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      <form class="row facets" @submit=${(event: Event) => event.preventDefault()} @input=${this.onFacet}>
        ${FACETS.map(
          ([name, title]) =>
            html`<label>${title}<input name=${name} autocomplete="off" spellcheck="false" .value=${this.query.get(name) ?? ""} /></label>`,
        )}
        <label
          >Result<select name="result">
            <option value="">all</option>
            ${RESULTS.map((result) => {
              const name = word(result, "DECISION_RESULT_");
              return html`<option value=${name} ?selected=${this.query.get("result") === name}>${name}</option>`;
            })}
          </select></label
        >
      </form>
      ${this.error ? failed(this.error, () => this.begin()) : nothing}
      ${decisionGrid("Decisions, the newest first", this.shown, this.error ? "Nothing was listed." : this.loaded ? "No decision yet, or none that matches." : "Loading …")}
    </div>`;
  }

  private progress(): string {
    const missed = this.missed ? ` · ${amount(this.missed)} passed over` : "";
    return `${amount(this.shown.length)} shown${missed}`;
  }

  private copies(): ReturnType<typeof copiesOf> {
    const flags = [...this.query].filter(([name, value]) => name !== "process" && value).map(([name, value]) => `--${name} ${quoted(value)}`);
    const request = { filter: this.filter() };
    return copiesOf(["mooring decisions", ...flags].join(" "), "DecisionService/ListDecisions", request);
  }

  private filter(): DecisionFilterJson {
    const filter: DecisionFilterJson = {};
    const wanted = (name: string) => this.query.get(name)?.trim() ?? "";
    for (const name of ["namespace", "pod", "node", "profile"] as const) if (wanted(name)) filter[name] = wanted(name);
    if (/^\d+$/.test(wanted("margin"))) filter.maxMargin = wanted("margin");
    if (wanted("selector")) filter.labelSelector = wanted("selector");
    if (wanted("plugin")) filter.rejectingPlugin = wanted("plugin");
    const result = RESULTS.find((one) => word(one, "DECISION_RESULT_") === wanted("result"));
    if (result) filter.results = [result];
    return filter;
  }

  private begin(): void {
    this.abort.abort();
    this.abort = new AbortController();
    this.asked = this.query.toString();
    [this.waiting, this.missed, this.error] = [[], 0, undefined];
    void this.follow(this.abort.signal);
  }

  /** Asks again and again, one call at a time, also after a failure. */
  private async follow(signal: AbortSignal): Promise<void> {
    let last: ListDecisionsResponseJson | undefined;
    while (!signal.aborted) {
      try {
        const answer = await this.ask(last, signal);
        if (last && answer.journalId !== last.journalId) return this.begin();
        if (!last) this.shown = [];
        this.add(answer.decisions ?? [], this.paused && last !== undefined);
        last = { ...answer, nextAfterSeq: this.goOn(answer) };
      } catch (error) {
        if (!signal.aborted) this.error = error as Error;
      }
      await pause(this.error || last?.waitRefused ? RETRY_MILLISECONDS : PAUSE_MILLISECONDS);
    }
  }

  /** The newest ones at first, then those that follow. */
  private ask(last: ListDecisionsResponseJson | undefined, signal: AbortSignal): Promise<ListDecisionsResponseJson> {
    const request: ListDecisionsRequestJson = { filter: this.filter(), limit: KEPT };
    if (last) Object.assign(request, { afterSeq: last.nextAfterSeq ?? "0", wait: WAIT });
    return call("DecisionService/ListDecisions", request, signal);
  }

  /** Where more is decided than anybody reads, it goes on with the newest ones. */
  private goOn({ nextAfterSeq = "0", lastSeq = "0", missedCount = "0" }: ListDecisionsResponseJson): string {
    const behind = Math.max(0, Number(lastSeq) - Number(nextAfterSeq) - KEPT);
    this.missed += Number(missedCount) + behind;
    return String(Number(nextAfterSeq) + behind);
  }

  private add(found: DecisionJson[], later: boolean): void {
    this.loaded = true;
    this.error = undefined;
    if (!found.length) return;
    const newest = [...found].reverse();
    if (later) this.waiting = [...newest, ...this.waiting].slice(0, KEPT);
    else this.shown = [...newest, ...this.shown].slice(0, KEPT);
  }

  private readonly take = (): void => {
    this.shown = [...this.waiting, ...this.shown].slice(0, KEPT);
    this.waiting = [];
  };

  private readonly pause = (): void => {
    this.paused = !this.paused;
    if (!this.paused) this.take();
  };

  private readonly onFacet = (event: Event): void => {
    const { name, value } = event.target as HTMLInputElement;
    refine({ [name]: value });
  };
}

/** Returns the newest decisions, the oldest of them first. A process without a journal has none. */
export async function recentDecisions(signal: AbortSignal): Promise<DecisionJson[]> {
  try {
    return (await call("DecisionService/ListDecisions", { limit: LOOKED_AT }, signal)).decisions ?? [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/** Returns a table of decisions, also where a pod, a node or a plugin lists its own. */
export function decisionGrid(label: string, decisions: readonly DecisionJson[], empty = "None is remembered."): TemplateResult {
  return html`<mooring-grid
    label=${label}
    .columns=${COLUMNS}
    .rows=${decisions}
    .keyOf=${(decision: DecisionJson) => decision.seq!}
    empty=${empty}
    @mooring-open=${(event: CustomEvent<DecisionJson>) => (location.hash = link(["decisions", event.detail.seq!]))}
  ></mooring-grid>`;
}

const COLUMNS: GridColumn<DecisionJson>[] = [
  {
    id: "pod",
    title: "Pod",
    width: "min(11rem, 42vw)",
    cell: ({ pod, seq }) => html`<a tabindex="-1" href=${link(["decisions", seq!])} title=${podName(pod)}>${podName(pod)}</a>`,
  },
  {
    id: "outcome",
    title: "Outcome",
    width: "minmax(14rem, 1fr)",
    cell: (decision) => {
      const { mark, text, tone } = outcome(decision);
      return html`<span class=${tone} title=${text}>${mark} ${text}</span>`;
    },
  },
  { id: "time", title: "Time", width: "6rem", cell: ({ time }) => html`<time datetime=${time!} title=${`${age(time)} ago`}>${clock(time)}</time>` },
  { id: "kind", title: "Kind", width: "5.5rem", cell: ({ kind }) => word(kind, "DECISION_KIND_") },
  {
    id: "margin",
    title: "Margin",
    width: "5rem",
    numeric: true,
    cell: ({ node, tieCount = 0, runnerUpNode, total = "0", runnerUpTotal = "0" }) => {
      if (node && tieCount > 1) return html`<span title="${counted(tieCount, "node")} had the highest total">tied</span>`;
      return runnerUpNode ? amount(Number(total) - Number(runnerUpTotal)) : "";
    },
  },
  {
    id: "feasible",
    title: "Feasible",
    width: "7.5rem",
    numeric: true,
    cell: ({ feasibleCount = 0, evaluatedCount = 0 }) => (evaluatedCount ? `${amount(feasibleCount)} of ${amount(evaluatedCount)}` : amount(feasibleCount)),
  },
  { id: "attempt", title: "Attempt", width: "5rem", numeric: true, cell: ({ attempt }) => (attempt ? amount(attempt) : "") },
  { id: "duration", title: "Took", width: "6rem", numeric: true, cell: (decision) => duration(decision.duration) },
  { id: "profile", title: "Profile", width: "8rem", cell: ({ provenance }) => provenance?.profile ?? "" },
];

function clock(time: string | undefined): string {
  return time ? new Date(time).toLocaleTimeString("en-GB") : "";
}
