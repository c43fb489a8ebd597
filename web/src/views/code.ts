import { html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { type CodeEntry, codesIn } from "../matrix/codes";
import { Loader } from "../page/loader";
import { link } from "../page/route";
import { shared } from "../styles";

/** A reason code, as docs/reason-codes.md describes it. */
@customElement("mooring-code")
export class Code extends LitElement {
  @property() name = "";

  private readonly codes = new Loader<CodeEntry[]>(this, async () => codesIn((await import("../../../docs/reason-codes.md?raw")).default));

  static override styles = [shared];

  protected override render(): TemplateResult {
    return html`<div class="stack">
      <h1>Reason code ${this.name}</h1>
      ${this.codes.show((codes) => this.described(codes))}
    </div>`;
  }

  private described(codes: readonly CodeEntry[]): TemplateResult {
    const code = codes.find(({ name }) => name === this.name);
    if (!code) return html`<p class="card">It is none of mooring's codes: a plugin has words of its own.</p>`;
    const { meaning, number, subject, plugin, text } = code;
    const others = codes.filter((one) => one.plugin === plugin && one.name !== this.name);
    return html`<section class="card stack tight" aria-label=${this.name}>
        <p>${meaning}</p>
        <dl class="facts">
          <div><dt>Number</dt><dd>${number}</dd></div>
          <div><dt>Subject</dt><dd>${subject}</dd></div>
          <div><dt>Found by</dt><dd>${plugin.includes(" ") ? plugin : html`<a href=${link(["plugins", plugin])}>${plugin}</a>`}</dd></div>
          ${text ? html`<div><dt>kube-scheduler</dt><dd>${text}</dd></div>` : nothing}
        </dl>
      </section>
      ${others.length ? html`<p class="quiet">Others: ${others.map(({ name }, at) => html`${at ? ", " : nothing}<a href=${link(["codes", name])}>${name}</a>`)}</p>` : nothing}`;
  }
}
