import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, query } from "lit/decorators.js";

import { shared } from "../styles";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search pods, nodes, owners, plugins and views"],
  ["?", "this help"],
  ["Tab", "go to the next link, button or table"],
  ["↑ ↓ Page Home End", "move in a table"],
  ["Enter", "open the row of a table"],
  ["Space", "in the table of one decision, pin a node; two pinned nodes are compared"],
  ["Esc", "close this"],
];

const WORDS: readonly (readonly [string, string])[] = [
  ["Feasible", "No plugin rejects the node for the pod."],
  ["Margin", "How many points the selected node is ahead of the next one; tied nodes are chosen from by a seed."],
  ["Rejected by", "The first plugin that rejects a node, in the order of the profile."],
  ["Pending", "The pod has no node yet."],
  ["In flight", "The scheduler is trying the pod right now."],
  ["Backoff", "The pod failed before, and waits some seconds before it is tried again."],
  ["Gated", "A PreEnqueue plugin does not let the pod into the queue yet."],
  ["Bars", "What a node's pods request of what the node offers; not what they use."],
];

/** The keys, and what the page's words mean. */
@customElement("mooring-help")
export class Help extends LitElement {
  @query("dialog") private readonly dialog!: HTMLDialogElement;

  static override styles = [
    shared,
    css`
      dialog {
        width: min(42rem, calc(100vw - 2rem));
        max-height: 85vh;
        padding: var(--s5);
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      dl {
        display: grid;
        grid-template-columns: minmax(6rem, max-content) 1fr;
        gap: var(--s1) var(--s4);
      }
      dt {
        font-weight: 600;
      }
    `,
  ];

  open(): void {
    if (!this.dialog.open) this.dialog.showModal();
  }

  protected override render(): TemplateResult {
    return html`<dialog aria-labelledby="title" @click=${(event: Event) => event.target === this.dialog && this.dialog.close()}>
      <div class="stack">
        <div class="row between">
          <h2 id="title">Help</h2>
          <button @click=${() => this.dialog.close()}>Close</button>
        </div>
        <section class="stack tight" aria-labelledby="keys">
          <h3 id="keys">Keys</h3>
          <dl>${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
        </section>
        <section class="stack tight" aria-labelledby="filters">
          <h3 id="filters">Filters</h3>
          <dl>
            <dt class="mono">app=web,!gpu</dt>
            <dd>labels, as kubectl takes them</dd>
            <dt class="mono">cpu&gt;2 memory&gt;4Gi</dt>
            <dd>nodes with so much room, in the list of nodes</dd>
            <dt>other words</dt>
            <dd>a part of a name, zone, taint or reason</dd>
          </dl>
        </section>
        <section class="stack tight" aria-labelledby="words">
          <h3 id="words">Words</h3>
          <dl>${WORDS.map(([word, text]) => html`<dt>${word}</dt><dd>${text}</dd>`)}</dl>
        </section>
      </div>
    </dialog>`;
  }
}
