import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { GetPodHistoryResponseJson, PodMomentJson } from "../contract/mooring/v1/decision_service_pb";
import { age, counted } from "../matrix/amounts";
import { eventWords } from "../matrix/events";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { word } from "../page/words";
import { shared } from "../styles";

/** How many moments are shown at first, the newest ones. */
const SHOWN = 12;

const TONES: Record<string, readonly [mark: string, tone: string]> = {
  placed: ["✓", "good"],
  rejected: ["✕", "bad"],
  failed: ["⚠", "warn"],
  gated: ["…", "warn"],
  waits: ["…", "warn"],
};

/** The look of events in a row: a line that goes on in the next row. */
export const lineStyles = css`
  .line {
    list-style: none;
    display: flex;
    flex-wrap: wrap;
    row-gap: var(--s3);
    padding: var(--s2) 0;
  }
  .line > li {
    flex: 1 1 min(100%, 14rem);
    border-top: 2px solid var(--edge);
    padding: var(--s2) var(--s4) 0 0;
    position: relative;
    overflow-wrap: anywhere;
  }
  .line > li::before {
    content: "";
    position: absolute;
    top: -6px;
    width: 10px;
    height: 10px;
    border-radius: 50%;
    background: var(--raised);
    border: 2px solid var(--edge);
  }
  .line > li.now::before {
    background: var(--accent);
    border-color: var(--accent);
  }
`;

/** A pod's life as a line: created, gated, woken by which event, tried, rejected, placed, and what it waits for. */
@customElement("mooring-life")
export class Life extends LitElement {
  @property() namespace = "";
  @property() name = "";
  @state() private all = false;

  private readonly history = new Loader<GetPodHistoryResponseJson>(
    this,
    (signal) => call("DecisionService/GetPodHistory", { namespace: this.namespace, name: this.name }, signal),
    { key: () => `${this.namespace}/${this.name}`, every: 5_000 },
  );

  static override styles = [shared, lineStyles];

  protected override render(): TemplateResult {
    return html`<section class="card stack tight" aria-labelledby="life">
      <h2 id="life">Its life</h2>
      ${this.history.show((history) => this.line(history))}
    </section>`;
  }

  private line({ moments = [], since = [] }: GetPodHistoryResponseJson): TemplateResult {
    if (!moments.length) return html`<p class="quiet">Nothing is known of it before now.</p>`;
    const hidden = this.all ? 0 : Math.max(0, moments.length - SHOWN);
    return html`${hidden ? html`<p><button @click=${() => (this.all = true)}>Show ${counted(hidden, "earlier moment")}</button></p>` : nothing}
      <ol class="line">
        ${moments.slice(hidden).map(moment)}
      </ol>
      ${since.length ? html`<p>Since its last attempt: ${since.join(", ")}</p>` : nothing}`;
  }
}

function moment({ kind, time = "", text = "", seq }: PodMomentJson): TemplateResult {
  const what = word(kind, "POD_MOMENT_KIND_");
  const [mark = "", tone = ""] = TONES[what] ?? [];
  const title = html`<span class=${tone}>${mark}</span> <strong>${what}</strong>`;
  const words = what === "waits" ? waiting(text) : what === "woken" ? camelWords(text) : text;
  return html`<li class=${what === "waits" ? "now" : ""}>
    <p>
      ${seq ? html`<a href=${link(["decisions", seq])}>${title}</a>` : title}
      <time class="quiet" datetime=${time} title=${time}>${age(time)} ago</time>
    </p>
    <p>${words}</p>
  </li>`;
}

/** Returns what a pod waits for: its events in words, and its sweep. */
function waiting(text: string): string {
  const events = text.match(/[\w.*]+\/\w+/g);
  return events ? `until ${eventWords(events)}${/, or the sweep at .*$/.exec(text)?.[0] ?? ""}` : text;
}

/** Returns "by assigned pod delete" for AssignedPodDelete; a sentence stays one. */
function camelWords(text: string): string {
  return /^\w+$/.test(text) ? `by ${text.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()}` : text;
}
