import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { amount, counted } from "../matrix/amounts";
import type { Stage } from "../matrix/funnel";
import { shared } from "../styles";

/** How many nodes are left after each plugin, and why. A reason is "mooring-filter" when it is clicked. */
@customElement("mooring-funnel")
export class Funnel extends LitElement {
  @property({ attribute: false }) stages: Stage[] = [];
  @property({ type: Number }) total = 0;

  static override styles = [
    shared,
    css`
      ol {
        list-style: none;
        display: grid;
        grid-template-columns: fit-content(50%) minmax(4rem, 1fr) auto;
        gap: var(--s2) var(--s3);
      }
      .stage {
        display: grid;
        grid-column: 1 / -1;
        grid-template-columns: subgrid;
        row-gap: 0;
        align-items: center;
      }
      .name {
        overflow-wrap: anywhere;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: var(--sunken);
        display: flex;
        overflow: hidden;
      }
      .left {
        background: var(--accent);
      }
      .rejected {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 5px);
      }
      .figure {
        text-align: end;
        min-width: 3.5rem;
      }
      ul {
        grid-column: 1 / -1;
        list-style: none;
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      li button {
        all: unset;
        cursor: pointer;
        text-decoration: underline;
        text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
        text-underline-offset: 0.2em;
        overflow-wrap: anywhere;
      }
      li button:hover {
        color: var(--text);
      }
      li button:focus-visible {
        outline: 2px solid var(--accent);
      }
    `,
  ];

  protected override render(): TemplateResult {
    const left = this.stages.at(-1)?.left ?? this.total;
    return html`<ol>
      <li class="stage">
        <span class="name">All nodes</span>${this.track(this.total, 0)}<span class="figure">${amount(this.total)}</span>
      </li>
      ${this.stages.map((stage) => this.stage(stage))}
      <li class="stage">
        <strong class="name">Feasible</strong>${this.track(left, 0)}<strong class="figure ${left ? "good" : "bad"}"
          >${left ? "✓" : "✕"} ${amount(left)}</strong
        >
      </li>
    </ol>`;
  }

  private stage({ plugin, rejected, left, reasons }: Stage): TemplateResult {
    return html`<li class="stage">
      <span class="name" title=${plugin}>${plugin || "mooring"}</span>
      ${this.track(left, rejected)}
      <span class="figure bad" title="${counted(rejected, "node")} rejected, ${amount(left)} left">−${amount(rejected)}</span>
      <ul>
        ${reasons.map(
          (reason) =>
            html`<li>
              <button title="Show these nodes" @click=${() => this.show(reason.text)}>${reason.text || "no reason given"}</button>
              ${reasons.length > 1 ? html` · ${amount(reason.count)}` : nothing}
            </li>`,
        )}
      </ul>
    </li>`;
  }

  private track(left: number, rejected: number): TemplateResult {
    const share = (count: number) => `width: ${(100 * count) / Math.max(1, this.total)}%`;
    return html`<span class="track" aria-hidden="true"
      ><span class="left" .style=${share(left)}></span><span class="rejected" .style=${share(rejected)}></span
    ></span>`;
  }

  private show(reason: string): void {
    this.dispatchEvent(new CustomEvent("mooring-filter", { detail: reason }));
  }
}
