import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { Plugin } from "../matrix/matrix";
import { shared } from "../styles";

const MOST = 10;

/** A slider for the weight of each plugin. "mooring-weights" has all weights while one is dragged. */
@customElement("mooring-weights")
export class Weights extends LitElement {
  @property({ attribute: false }) plugins: Plugin[] = [];
  @property({ attribute: false }) weights: readonly number[] = [];

  static override styles = [
    shared,
    css`
      .sliders {
        display: grid;
        grid-template-columns: minmax(5rem, max-content) minmax(5rem, 1fr) minmax(3rem, auto);
        gap: var(--s1) var(--s3);
        align-items: center;
        max-height: 21rem;
        overflow-y: auto;
      }
      label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      input {
        width: 100%;
        padding: 0;
        min-height: 1.5rem;
        accent-color: var(--accent);
        background: none;
        border: 0;
      }
      output {
        text-align: end;
        white-space: nowrap;
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<div class="sliders" tabindex="0" role="group" aria-label="Weights of plugins">
      ${this.plugins.map(({ name, weight }, index) => {
        const now = this.weights[index]!;
        const changed = now === weight ? nothing : html`<span class="quiet">${weight} → </span>`;
        return html`<label for="weight-${index}" title=${name}>${name}</label>
          <input
            id="weight-${index}"
            type="range"
            min="0"
            max=${Math.max(MOST, 2 * weight)}
            .valueAsNumber=${now}
            @input=${(event: InputEvent) => this.change(index, (event.target as HTMLInputElement).valueAsNumber)}
          />
          <output for="weight-${index}">${changed}${now === 0 ? "off" : `× ${now}`}</output>`;
      })}
    </div>`;
  }

  private change(index: number, weight: number): void {
    const detail = this.weights.map((present, other) => (other === index ? weight : present));
    this.dispatchEvent(new CustomEvent("mooring-weights", { detail }));
  }
}
