import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { PodSourceJson } from "../contract/mooring/v1/objects_pb";
import type { AssignBlameResponseJson, BlamedInputJson, BlamedSetJson } from "../contract/mooring/v1/simulation_service_pb";
import { LINKS } from "../page/advice";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { word } from "../page/words";
import { shared } from "../styles";

/** Which pods, rules, gates and configuration cost the decision about a pod: asked for by a button, as it may take seconds. */
@customElement("mooring-blame")
export class Blame extends LitElement {
  @property({ attribute: false }) pod: PodSourceJson | undefined;

  private readonly found = new Loader<AssignBlameResponseJson>(
    this,
    (signal) => call("SimulationService/AssignBlame", { pod: this.pod ?? {} }, signal),
    { key: () => JSON.stringify(this.pod), onRequest: true },
  );

  static override styles = [
    shared,
    css`
      ul {
        list-style: none;
      }
      li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<section class="card stack tight" aria-labelledby="blame">
      <div class="row between">
        <h2 id="blame">What is to blame?</h2>
        <button ?disabled=${this.found.loading || !this.pod} @click=${() => void this.found.run()}>Find what cost the decision</button>
      </div>
      <p class="quiet">The pods, rules, gates or configuration without which it would come out otherwise.</p>
      ${this.found.show(sets)}
    </section>`;
  }
}

function sets({ node, sets: found = [], complete = false }: AssignBlameResponseJson): TemplateResult {
  return html`${found.length
      ? html`<ul>
          ${found.map((each) => set(each, node ? "the best is" : "it fits on"))}
        </ul>`
      : html`<p>No two inputs would change it.</p>`}
    ${complete ? nothing : html`<p class="quiet">Not all pods were tried: there are too many.</p>`}`;
}

function set({ inputs = [], nodes = [], nodeCount = 0 }: BlamedSetJson, then: string): TemplateResult {
  const more = nodeCount > nodes.length ? ` and ${nodeCount - nodes.length} more` : "";
  return html`<li>
    Without ${inputs.map((each, at) => html`${at ? " and " : nothing}${input(each)}`)}
    <span class="quiet">${then}</span> ${nodes.map((name, at) => html`${at ? ", " : nothing}<a href=${link(["nodes", name])}>${name}</a>`)}${more}
  </li>`;
}

function input({ kind, name = "", node = "" }: BlamedInputJson): TemplateResult {
  const what = word(kind, "BLAMED_KIND_");
  if (what === "pod") return html`pod <a href=${LINKS.pod(name)}>${name}</a> on ${node}`;
  if (what === "rule") return html`the rule <a href=${link(["plugins", name])}>${name}</a>`;
  if (what === "configuration") return html`<a href=${link(["profiles"])}>the configuration</a>`;
  return html`the gate <span class="mono">${name}</span>`;
}
