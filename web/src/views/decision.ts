import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import type { Copy } from "../elements/copy";
import "../elements/decision";
import { age, amount, duration } from "../matrix/amounts";
import { LINKS } from "../page/advice";
import { commandLine } from "../page/copies";
import { address, call, decisionColumns, nodesWith } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { outcome, podName, quoted, word } from "../page/words";
import { shared } from "../styles";
import { lineStyles } from "./life";
import "./manifest";

/** A decision by its number, with the other attempts of its pod. */
@customElement("mooring-decision-view")
export class DecisionView extends LitElement {
  @property() seq = "";
  /** Makes it again where it was kept: what is kept has only the first rejection of each node. */
  @state() private again = false;

  private readonly record = new Loader<DecisionJson | undefined>(this, (signal) => recordOf(this.seq, signal), { key: () => this.seq });
  private readonly columns = new Loader<ArrayBuffer>(this, (signal) => decisionColumns(this.seq, this.again, signal), {
    key: () => `${this.seq} ${this.again}`,
  });
  private readonly attempts = new Loader<DecisionJson[]>(this, (signal) => this.listAttempts(signal), {
    key: () => podName(this.record.value?.pod),
  });

  static override styles = [shared, lineStyles];

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("seq")) this.again = false;
  }

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <div class="row between">
        <h1>Decision ${this.seq}</h1>
        <div class="row">
          <button aria-pressed=${this.again} title="Made again as of then, with every rejection of each node" @click=${() => (this.again = !this.again)}>
            Make it again
          </button>
          ${this.record.value ? html`<mooring-copy .copies=${this.copies(this.record.value)}></mooring-copy>` : nothing}
        </div>
      </div>
      ${this.record.show((decision) => (decision ? this.facts(decision) : nothing))}
      ${this.columns.show((columns) => html`<mooring-decision .columns=${columns} .nodesWith=${nodesWith} .links=${LINKS}></mooring-decision>`)}
      ${this.columns.error && this.record.value ? now(this.record.value) : nothing}
      ${this.attempts.value && this.attempts.value.length > 1 ? this.timeline(this.attempts.value) : nothing}
      ${this.record.value ? manifest(this.record.value) : nothing}
    </div>`;
  }

  private facts(decision: DecisionJson): TemplateResult {
    const { pod, provenance, node, queueWait } = decision;
    const facts: [string, unknown][] = [
      ["Pod", html`<a href=${link(["pods", pod?.namespace ?? "", pod?.name ?? ""])}>${podName(pod)}</a>`],
      ["Made", html`<time datetime=${decision.time!} title=${decision.time!}>${age(decision.time)} ago</time>`],
      ["Kind", word(decision.kind, "DECISION_KIND_")],
      ["Node", node ? html`<a href=${link(["nodes", node])}>${node}</a>` : ""],
      ["Preempts", victims(decision)],
      ["Attempt", decision.attempt ? amount(decision.attempt) : ""],
      ["Waited", queueWait ? duration(queueWait) : ""],
      ["Took", duration(decision.duration)],
      ["Profile", html`<a href=${link(["profiles"])}>${provenance?.profile ?? ""}</a>`],
      ["Configuration", configurationLink(provenance?.configurationHash ?? "")],
      ["State", `version ${provenance?.stateVersion ?? 0}`],
      ["Trace", decision.traceId ?? ""],
    ];
    return html`<dl class="facts">
      ${facts.map(([name, value]) => (value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing))}
    </dl>`;
  }

  private copies(decision: DecisionJson): Copy[] {
    const attempt = decision.attempt ? ` --attempt ${decision.attempt}` : "";
    return [
      { name: "CLI", text: () => commandLine(`mooring explain ${quoted(podName(decision.pod))}${attempt}`) },
      { name: "JSON", text: JSON.stringify(decision, undefined, 2) },
      { name: "curl", text: `curl -s ${quoted(address(`decisions/${this.seq}/columns`))}` },
    ];
  }

  private timeline(attempts: DecisionJson[]): TemplateResult {
    return html`<section class="card stack tight" aria-labelledby="attempts">
      <h2 id="attempts">All decisions about this pod</h2>
      <ol class="line">
        ${attempts.map((decision, at) => {
          const [hash, before] = [decision, attempts[at - 1]].map((one) => one?.provenance?.configurationHash ?? "");
          const { mark, text, tone } = outcome(decision);
          const now = decision.seq === this.seq;
          return html`<li class=${now ? "now" : ""}>
            <a href=${link(["decisions", decision.seq!])} aria-current=${now ? "true" : nothing} title=${text}>
              <span class=${tone}>${mark}</span> ${text}</a
            >
            <span class="quiet">${word(decision.kind, "DECISION_KIND_")}, ${age(decision.time)} ago</span>
            ${before && before !== hash ? configurationLink(before, hash) : nothing}
          </li>`;
        })}
      </ol>
    </section>`;
  }

  private async listAttempts(signal: AbortSignal): Promise<DecisionJson[]> {
    const pod = this.record.value?.pod;
    if (!pod) return [];
    const filter = { namespace: pod.namespace ?? "", pod: pod.name ?? "" };
    return (await call("DecisionService/ListDecisions", { filter, limit: 50 }, signal)).decisions ?? [];
  }
}

/** The pods that have to end for this one, and where. */
function victims({ victims: keys = [], nominatedNode = "", violatedBudgets = [] }: DecisionJson): unknown {
  if (!keys.length) return "";
  const budgets = violatedBudgets.length ? `, against ${violatedBudgets.join(", ")}` : "";
  return html`${keys.map((key, at) => html`${at ? ", " : nothing}<a href=${LINKS.pod(key)}>${key}</a>`)} on
    <a href=${link(["nodes", nominatedNode])}>${nominatedNode}</a>${budgets}`;
}

/** Leads to what is different in the configuration of now, or in that of a later decision. */
function configurationLink(hash: string, later = ""): TemplateResult | typeof nothing {
  if (!hash) return nothing;
  const words = later ? "another configuration" : html`<span class="mono">${hash.slice(0, 8)}</span>`;
  return html`<a href=${link(["profiles"], { from: hash, to: later })} title="What differs ${later ? "between them" : "today"}">${words}</a>`;
}

/** Returns the journal's record without the explanation, which is large as JSON. */
async function recordOf(seq: string, signal: AbortSignal): Promise<DecisionJson | undefined> {
  const found = await call("DecisionService/ListDecisions", { afterSeq: String(Number(seq) - 1), limit: 1 }, signal);
  return found.decisions?.find((decision) => decision.seq === seq);
}

function now({ pod }: DecisionJson): TemplateResult {
  return html`<p><a href=${link(["pods", pod?.namespace ?? "", pod?.name ?? ""])}>Explain ${podName(pod)} as of now</a></p>`;
}

function manifest({ pod }: DecisionJson): TemplateResult {
  return html`<mooring-manifest .namespace=${pod?.namespace ?? ""} .name=${pod?.name ?? ""}></mooring-manifest>`;
}
