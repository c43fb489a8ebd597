import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { amount } from "../matrix/amounts";
import type { Difference } from "../matrix/differences";
import { shared } from "../styles";

/** Two scored nodes side by side: whose plugin gives more, and by how much. */
@customElement("mooring-comparison")
export class Comparison extends LitElement {
  @property() first = "";
  @property() second = "";
  @property({ attribute: false }) differences: Difference[] = [];

  static override styles = [
    shared,
    css`
      table {
        width: 100%;
        border-collapse: collapse;
      }
      th {
        font-weight: inherit;
        text-align: start;
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s2);
        vertical-align: middle;
      }
      td,
      th:nth-child(n + 2) {
        text-align: end;
      }
      tbody th {
        color: inherit;
        overflow-wrap: anywhere;
      }
      .bar {
        width: 30%;
        min-width: 5rem;
      }
      .axis {
        display: grid;
        grid-template-columns: 1fr 1fr;
        height: 10px;
        background: linear-gradient(var(--edge), var(--edge)) center / 1px 100% no-repeat;
      }
      .axis span {
        height: 100%;
        border-radius: 2px;
      }
      .ahead {
        background: var(--accent);
        justify-self: end;
      }
      .behind {
        background: var(--warn);
        grid-column: 2;
      }
      @media (max-width: 40rem) {
        .bar {
          display: none;
        }
        th,
        td {
          padding: var(--s1);
        }
      }
      tfoot td,
      tfoot th {
        border-top: 1px solid var(--line);
        font-weight: 600;
        color: inherit;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const sum = (pick: (one: Difference) => number) => this.differences.reduce((total, one) => total + pick(one), 0);
    const lead = sum((one) => one.lead);
    const most = Math.max(1, ...this.differences.map((one) => Math.abs(one.lead)));
    return html`<div class="stack tight">
      <p>${this.verdict(lead)}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">${this.first}</th>
            <th scope="col" class="bar"><span class="hidden">Which node is ahead</span></th>
            <th scope="col">${this.second}</th>
            <th scope="col">Lead</th>
          </tr>
        </thead>
        <tbody>
          ${this.differences.map(
            (one) =>
              html`<tr>
                <th scope="row">${one.plugin}</th>
                <td>${amount(one.first)}</td>
                <td class="bar">${bar(one.lead / most)}</td>
                <td>${amount(one.second)}</td>
                <td>${signed(one.lead)}</td>
              </tr>`,
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td>${amount(sum((one) => one.first))}</td>
            <td class="bar"></td>
            <td>${amount(sum((one) => one.second))}</td>
            <td>${signed(lead)}</td>
          </tr>
        </tfoot>
      </table>
    </div>`;
  }

  private verdict(lead: number): TemplateResult {
    if (!lead) return html`<strong>${this.first}</strong> and <strong>${this.second}</strong> are tied.`;
    const [ahead, behind] = lead > 0 ? [this.first, this.second] : [this.second, this.first];
    return html`<strong>${ahead}</strong> is ${amount(Math.abs(lead))} ahead of <strong>${behind}</strong>.`;
  }
}

/** To the left where the first node is ahead, as its figures are there. */
function bar(share: number): TemplateResult {
  const width = `width: ${100 * Math.abs(share)}%`;
  return html`<span class="axis" aria-hidden="true"><span class=${share > 0 ? "ahead" : "behind"} .style=${width}></span></span>`;
}

function signed(value: number): string {
  return value > 0 ? `+${amount(value)}` : value < 0 ? `−${amount(-value)}` : "0";
}
