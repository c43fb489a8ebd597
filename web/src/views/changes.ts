import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { PodSourceJson } from "../contract/mooring/v1/objects_pb";
import type { ChangeResponseJson, ChangeStepJson } from "../contract/mooring/v1/simulation_service_pb";
import { counted, quantity } from "../matrix/amounts";
import { call } from "../page/gateway";
import { failed } from "../page/loader";
import { link } from "../page/route";
import { podName } from "../page/words";
import { shared } from "../styles";

/** What would have to change for a pod to fit, found by trying: asked for by a button, as it may take seconds. */
@customElement("mooring-changes")
export class Changes extends LitElement {
  @property({ attribute: false }) pod: PodSourceJson | undefined;
  /** The session that is looked at; "" = the live state. */
  @property() session = "";
  /** Whether it was asked for already: another pod is asked about at once. */
  @property({ type: Boolean }) asked = false;

  @state() private found: ChangeResponseJson | undefined;
  @state() private asking = false;
  @state() private error: Error | undefined;

  static override styles = [
    shared,
    css`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
      ul {
        padding-inline-start: var(--s4);
      }
    `,
  ];

  protected override updated(changed: PropertyValues): void {
    if (changed.has("pod") && this.asked) void this.ask();
  }

  protected override render(): TemplateResult {
    return html`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">What would make it fit?</h2>
        <button ?disabled=${this.asking || !this.pod} @click=${() => void this.ask()}>Find the fewest changes</button>
      </div>
      <div role="status" class="quiet">${this.asking ? "Trying on a copy of the cluster …" : nothing}</div>
      ${this.error ? failed(this.error, () => void this.ask()) : nothing} ${this.found ? options(this.found) : nothing}
    </section>`;
  }

  private async ask(): Promise<void> {
    [this.asking, this.error, this.found] = [true, undefined, undefined];
    try {
      this.found = await call("SimulationService/Change", { session: this.session, pod: this.pod! });
    } catch (error) {
      this.error = error as Error;
    }
    this.asking = false;
  }
}

function options({ status, options: found = [], complete = false }: ChangeResponseJson): TemplateResult {
  if (status?.code === "CODE_SUCCESS") return html`<p class="good">✓ It fits as it is.</p>`;
  if (!found.length) return html`<p>No set of changes was found with which it fits.</p>`;
  const rest = complete ? nothing : html`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;
  return html`<ol>
      ${found.map(
        ({ steps = [], node }) =>
          html`<li>
            <p>${counted(steps.length, "change")}, then <a href=${link(["nodes", node ?? ""])}>${node}</a> takes it:</p>
            <ul>
              ${steps.map((step) => html`<li>${wordsOf(step)}</li>`)}
            </ul>
          </li>`,
      )}
    </ol>
    ${rest}`;
}

/** Returns one change as a sentence. */
export function wordsOf({ toleration, label, request, move, node }: ChangeStepJson): string {
  if (toleration) return `the pod tolerates ${toleration.key ?? ""}${toleration.value ? `=${toleration.value}` : ""}:${toleration.effect ?? ""}`;
  if (label) return label.value === undefined ? `${label.node} loses the label ${label.key}` : `${label.node} gets the label ${label.key}=${label.value}`;
  if (request) {
    const [before, after] = [request.before, request.after].map((value) => quantity(request.resource ?? "", Number(value ?? 0)));
    return `the pod requests ${after} ${request.resource} in place of ${before}`;
  }
  if (move) return `${podName(move.pod)} goes to ${move.node}`;
  return `there is one more node like ${node?.like ?? ""}`;
}
