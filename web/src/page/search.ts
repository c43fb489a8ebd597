import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, query, state } from "lit/decorators.js";

import { podName } from "./words";
import { call } from "./gateway";
import { link } from "./route";
import { shared } from "../styles";

const MOST = 8;
const PAUSE_MILLISECONDS = 120;

interface Hit {
  kind: "View" | "Node" | "Pod" | "Owner" | "Plugin";
  name: string;
  href: string;
}

/** Finds pods, nodes, owners, plugins and views by a part of their name. */
@customElement("mooring-search")
export class Search extends LitElement {
  @state() private hits: Hit[] = [];
  @state() private active = 0;
  @state() private text = "";
  @state() private problem = "";
  @query("dialog") private readonly dialog!: HTMLDialogElement;
  private views: Hit[] = [];
  private known: Promise<Hit[]> | undefined;
  private abort = new AbortController();

  static override styles = [
    shared,
    css`
      dialog {
        width: min(40rem, calc(100vw - 2rem));
        margin-top: 12vh;
        padding: 0;
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      input {
        width: 100%;
        border: 0;
        border-bottom: 1px solid var(--line);
        border-radius: 0;
        padding: var(--s3) var(--s4);
        font-size: 1rem;
      }
      input:focus-visible {
        outline-offset: -2px;
      }
      ul {
        list-style: none;
        max-height: 60vh;
        overflow-y: auto;
      }
      li {
        display: grid;
        grid-template-columns: 4.5rem 1fr;
        padding: var(--s2) var(--s4);
        cursor: pointer;
        overflow-wrap: anywhere;
      }
      li[aria-selected="true"] {
        background: var(--tint);
        box-shadow: inset 3px 0 var(--accent);
      }
      p {
        padding: var(--s3) var(--s4);
      }
    `,
  ];

  /** Opens it; `views` are the names and links of the page's views. */
  open(views: readonly { title: string; href: string }[]): void {
    this.views = views.map(({ title: name, href }) => ({ kind: "View", name, href }));
    this.known = undefined;
    this.text = "";
    void this.find();
    if (!this.dialog.open) this.dialog.showModal();
  }

  protected override render(): TemplateResult {
    const status = this.problem || (this.text && !this.hits.length ? "Nothing has such a name." : "");
    return html`<dialog aria-label="Search" @click=${this.onBackdrop}>
      <input
        role="combobox"
        aria-label="Search pods, nodes, owners, plugins and views"
        aria-expanded="true"
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant=${this.hits.length ? `hit-${this.active}` : nothing}
        placeholder="A part of the name of a pod, node, owner, plugin or view"
        autocomplete="off"
        spellcheck="false"
        .value=${this.text}
        @input=${this.onInput}
        @keydown=${this.onKey}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        ${this.hits.map(
          (hit, at) =>
            html`<li role="option" id="hit-${at}" aria-selected=${at === this.active} @click=${() => this.go(hit)}>
              <span class="quiet">${hit.kind}</span><span>${hit.name}</span>
            </li>`,
        )}
      </ul>
      <p class="quiet" role="status" ?hidden=${!status}>${status}</p>
    </dialog>`;
  }

  private readonly onBackdrop = (event: MouseEvent): void => {
    if (event.target === this.dialog) this.dialog.close();
  };

  private readonly onInput = (event: Event): void => {
    this.text = (event.target as HTMLInputElement).value.trim();
    void this.find();
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const hit = this.hits[this.active];
    if (step && this.hits.length) this.active = (this.active + step + this.hits.length) % this.hits.length;
    else if (event.key === "Enter" && hit) this.go(hit);
    else return;
    event.preventDefault();
    void this.updateComplete.then(() => this.renderRoot.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
  };

  private go({ href }: Hit): void {
    this.dialog.close();
    location.hash = href;
  }

  private async find(): Promise<void> {
    this.abort.abort();
    const { signal } = (this.abort = new AbortController());
    const { text } = this;
    this.take(matching(this.views, text));
    if (!text) return;
    await new Promise((done) => setTimeout(done, PAUSE_MILLISECONDS));
    if (signal.aborted) return;
    try {
      const [known, pods] = await Promise.all([(this.known ??= knownNames()), podsLike(text, signal)]);
      if (!signal.aborted) this.take([...matching(this.views, text), ...matching(known, text), ...pods]);
    } catch (error) {
      if (signal.aborted) return;
      this.known = undefined;
      this.problem = (error as Error).message;
    }
  }

  private take(hits: Hit[]): void {
    [this.hits, this.active, this.problem] = [hits, 0, ""];
  }
}

/** The best ones: those that begin so are before those that have it within. */
function matching(hits: readonly Hit[], text: string): Hit[] {
  const wanted = text.toLowerCase();
  const place = ({ name }: Hit) => name.toLowerCase().indexOf(wanted);
  return hits
    .filter((hit) => place(hit) >= 0)
    .sort((a, b) => Number(place(a) > 0) - Number(place(b) > 0))
    .slice(0, MOST);
}

async function knownNames(): Promise<Hit[]> {
  const [nodes, plugins] = await Promise.all([call("ClusterService/ListNodes", {}), call("PluginService/ListPlugins", {})]);
  const nodeNames = nodes.nodes?.names?.names ?? [];
  return [
    ...nodeNames.map((name): Hit => ({ kind: "Node", name, href: link(["nodes", name]) })),
    ...(plugins.plugins ?? []).map(({ name = "" }): Hit => ({ kind: "Plugin", name, href: link(["plugins", name]) })),
  ];
}

async function podsLike(namePart: string, signal: AbortSignal): Promise<Hit[]> {
  const { pods = [] } = await call("ClusterService/ListPods", { namePart, pageSize: MOST }, signal);
  const owners = new Map<string, Hit>();
  for (const { pod, controllerKind, controllerName = "" } of pods) {
    if (!controllerKind) continue;
    const name = `${controllerKind} ${pod?.namespace ?? ""}/${controllerName}`;
    owners.set(name, { kind: "Owner", name, href: link(["owners", pod?.namespace ?? "", controllerKind, controllerName]) });
  }
  const found = pods.map(({ pod }): Hit => ({ kind: "Pod", name: podName(pod), href: link(["pods", pod?.namespace ?? "", pod?.name ?? ""]) }));
  return [...owners.values(), ...found];
}
