import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import { shared } from "../styles";

export interface Copy {
  /** Such as "CLI" or "YAML". */
  name: string;
  /** The text, or a call that returns it when it is wanted. */
  text: string | (() => string | Promise<string>);
}

/** Buttons that put a text on the clipboard, and say so. */
@customElement("mooring-copy")
export class CopyButtons extends LitElement {
  @property({ attribute: false }) copies: Copy[] = [];
  @state() private done = "";
  @state() private failed = "";

  static override styles = [
    shared,
    css`
      :host {
        display: inline-block;
      }
      button {
        font-size: 0.8125rem;
        min-height: 1.75rem;
        padding: 0 var(--s2);
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<span class="row" role="group" aria-label="Copy as">
      <span class="quiet" aria-hidden="true">Copy as</span>
      ${this.copies.map(
        (copy) => html`<button title=${typeof copy.text === "string" ? copy.text : nothing} @click=${() => void this.copy(copy)}>${this.done === copy.name ? "✓ " : this.failed === copy.name ? "✕ " : ""}${copy.name}</button>`,
      )}
      <span class="hidden" role="status">${this.done && `${this.done} copied`}${this.failed && `${this.failed} could not be copied`}</span>
    </span>`;
  }

  private async copy({ name, text }: Copy): Promise<void> {
    try {
      await toClipboard(typeof text === "string" ? text : await text());
      this.done = name;
    } catch {
      this.failed = name;
    }
    setTimeout(() => (this.done = this.failed = ""), 2000);
  }
}

/** Without TLS, beyond loopback, browsers have no clipboard API; what is selected can be copied everywhere. */
async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
