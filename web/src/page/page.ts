import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { keyed } from "lit/directives/keyed.js";

import { shared, tokens } from "../styles";
import "../views/code";
import "../views/decision";
import "../views/decisions";
import "../views/node";
import "../views/nodes";
import "../views/overview";
import "../views/owner";
import "../views/plugin";
import "../views/pod";
import "../views/pods";
import "../views/profiles";
import "../views/queue";
import "../views/what_if";
import { listProcesses, type Process } from "./gateway";
import "./help";
import type { Help } from "./help";
import { Loader } from "./loader";
import "./search";
import type { Search } from "./search";
import { applyTheme, chosenTheme, type Theme, THEMES } from "./theme";
import { link, parseRoute, refine, type Route } from "./route";

interface View {
  /** Empty for what is reached by links alone. */
  title: string;
  render: (route: Route) => TemplateResult;
}

/** The views by the first part of the path, in the order of the navigation. */
const VIEWS: Record<string, View> = {
  "": { title: "Overview", render: () => html`<mooring-overview></mooring-overview>` },
  decisions: { title: "Decisions", render: decisions },
  pods: { title: "Pods", render: pods },
  nodes: { title: "Nodes", render: nodes },
  queue: { title: "Queue", render: ({ query }) => html`<mooring-queue .query=${query}></mooring-queue>` },
  profiles: { title: "Profiles", render: ({ query }) => html`<mooring-profiles .query=${query}></mooring-profiles>` },
  "what-if": { title: "What if", render: ({ query }) => html`<mooring-what-if .query=${query}></mooring-what-if>` },
  owners: { title: "", render: owners },
  codes: { title: "", render: ({ path: [, name = ""] }) => html`<mooring-code .name=${name}></mooring-code>` },
  plugins: { title: "", render: ({ path: [, name = ""] }) => html`<mooring-plugin .name=${name}></mooring-plugin>` },
};

/** The page: navigation, the process that is looked at, and the view that the hash names. */
@customElement("mooring-page")
export class Page extends LitElement {
  @state() private route: Route = parseRoute(location.hash);
  @state() private theme: Theme = chosenTheme();
  @query("mooring-search") private readonly search!: Search;
  @query("mooring-help") private readonly help!: Help;
  private readonly processes = new Loader<Process[], undefined>(this, listProcesses, { every: 15_000 });

  static override styles = [
    tokens,
    shared,
    css`
      :host {
        min-height: 100vh;
      }
      header {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--s5);
        padding: 0 var(--s5);
      }
      .brand {
        font-weight: 650;
        font-size: 1rem;
        letter-spacing: -0.01em;
        color: inherit;
        text-decoration: none;
        padding: var(--s3) 0;
      }
      nav {
        flex: 1 1 auto;
        min-width: 0;
        overflow-x: auto;
        scrollbar-width: none;
      }
      nav ul {
        display: flex;
        list-style: none;
        gap: var(--s1);
      }
      nav a {
        display: block;
        white-space: nowrap;
        padding: var(--s3) var(--s2);
        color: var(--quiet);
        text-decoration: none;
        border-bottom: 2px solid transparent;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        color: var(--text);
        border-color: var(--accent);
      }
      nav a:focus-visible {
        outline-offset: -2px;
      }
      main {
        max-width: 110rem;
        margin: 0 auto;
        padding: var(--s5);
      }
      main:focus {
        outline: none;
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      @media (max-width: 40rem) {
        header {
          padding: 0 var(--s4);
        }
        nav {
          order: 3;
          flex-basis: 100%;
        }
        .process {
          flex: 1;
          justify-content: end;
          padding-block: var(--s2);
        }
        kbd {
          display: none;
        }
        main {
          padding: var(--s4);
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", this.onHash);
    addEventListener("keydown", this.onKey);
    applyTheme(this.theme);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.onHash);
    removeEventListener("keydown", this.onKey);
  }

  protected override updated(changed: Map<string, unknown>): void {
    if (!changed.has("route")) return;
    // In a narrow window the navigation is longer than the window. The page itself stays where it is.
    const nav = this.renderRoot.querySelector("nav");
    const current = nav?.querySelector<HTMLElement>("[aria-current]");
    if (nav && current) nav.scrollLeft = current.offsetLeft - nav.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;
  }

  protected override render(): TemplateResult {
    const [name = ""] = this.route.path;
    const view = VIEWS[name];
    document.title = [...this.route.path.slice().reverse(), "mooring"].join(" · ");
    return html`<button class="skip" @click=${() => this.renderRoot.querySelector("main")?.focus()}>Skip to the content</button>
      <header>
        <a class="brand" href=${link([])}>mooring</a>
        <nav aria-label="Views">
          <ul>
            ${Object.entries(VIEWS)
              .filter(([, { title }]) => title)
              .map(
                ([path, { title }]) =>
                  html`<li><a href=${link(path ? [path] : [])} aria-current=${path === name ? "page" : nothing}>${title}</a></li>`,
              )}
          </ul>
        </nav>
        <div class="process row">${this.tools()} ${this.picker()}</div>
      </header>
      <main tabindex="-1">
        ${view
          ? keyed(this.route.query.get("process"), view.render(this.route))
          : html`<h1>There is no such view</h1><p><a href=${link([])}>To the overview</a></p>`}
      </main>
      <mooring-search></mooring-search>
      <mooring-help></mooring-help>`;
  }

  private picker(): TemplateResult | typeof nothing {
    const { value: processes = [], error } = this.processes;
    if (error) return html`<span class="bad" role="alert">✕ mooring web does not answer</span>`;
    const chosen = processes.find((one) => one.name === this.route.query.get("process")) ?? processes[0];
    if (!chosen) return nothing;
    const state = chosen.state === "ok" ? nothing : html`<span class="bad" role="alert" title=${chosen.message ?? ""}>✕ unreachable</span>`;
    if (processes.length === 1) return html`${state} <span class="quiet" title=${chosen.address}>${chosen.name}</span>`;
    return html`${state}
      <select aria-label="Process" @change=${(event: Event) => refine({ process: (event.target as HTMLSelectElement).value })}>
        ${processes.map((one) => html`<option value=${one.name} ?selected=${one === chosen}>${one.name}</option>`)}
      </select>`;
  }

  private tools(): TemplateResult {
    return html`<button aria-keyshortcuts="/" title="Search (/)" @click=${this.openSearch}>Search <kbd aria-hidden="true">/</kbd></button>
      <button aria-keyshortcuts="?" aria-label="Help" title="Help (?)" @click=${() => this.help.open()}>?</button>
      <select aria-label="Theme" title="Theme" @change=${(event: Event) => this.choose((event.target as HTMLSelectElement).value as Theme)}>
        ${THEMES.map((theme) => html`<option value=${theme} ?selected=${theme === this.theme}>${theme}</option>`)}
      </select>`;
  }

  private choose(theme: Theme): void {
    this.theme = theme;
    applyTheme(theme);
  }

  private readonly openSearch = (): void => {
    const views = Object.entries(VIEWS).filter(([, { title }]) => title);
    this.search.open(views.map(([path, { title }]) => ({ title, href: link(path ? [path] : []) })));
  };

  /** Keys of the page itself, but not while somebody types. */
  private readonly onKey = (event: KeyboardEvent): void => {
    const [target] = event.composedPath();
    const types = target instanceof HTMLElement && target.matches("input, textarea, select");
    if (types || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") this.openSearch();
    else if (event.key === "?") this.help.open();
    else return;
    event.preventDefault();
  };

  private readonly onHash = (): void => {
    this.route = parseRoute(location.hash);
  };
}

function decisions({ path: [, seq], query }: Route): TemplateResult {
  return seq
    ? html`<mooring-decision-view .seq=${seq}></mooring-decision-view>`
    : html`<mooring-decisions .query=${query}></mooring-decisions>`;
}

function pods({ path: [, namespace, name], query }: Route): TemplateResult {
  return namespace && name
    ? html`<mooring-pod .namespace=${namespace} .name=${name}></mooring-pod>`
    : html`<mooring-pods .query=${query}></mooring-pods>`;
}

function owners({ path: [, namespace = "", kind = "", name = ""] }: Route): TemplateResult {
  return html`<mooring-owner .namespace=${namespace} .kind=${kind} .name=${name}></mooring-owner>`;
}

function nodes({ path: [, name], query }: Route): TemplateResult {
  return name ? html`<mooring-node .name=${name}></mooring-node>` : html`<mooring-nodes .query=${query}></mooring-nodes>`;
}
