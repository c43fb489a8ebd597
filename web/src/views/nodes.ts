import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import "../elements/grid";
import type { GridColumn, Sorting } from "../elements/grid";
import { age, amount, counted, quantity } from "../matrix/amounts";
import { commonSuffix } from "../matrix/names";
import { filterNodes, isAboutRoom, nodeFilter, type NodeRow, nodeRows, type NodeRows, shownResources, taken } from "../matrix/nodes";
import { isSelector } from "../matrix/rows";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { link, refine } from "../page/route";
import { podName, quoted } from "../page/words";
import { shared } from "../styles";
import { recentDecisions } from "./decisions";

/** What was selected lately, by node. */
interface Selection {
  count: number;
  last: DecisionJson;
}

interface Found {
  nodes: NodeRows;
  suffix: string;
  selected: Map<string, Selection>;
  columns: GridColumn<NodeRow>[];
}

/** All nodes: their room, what keeps pods away, and what selected them. */
@customElement("mooring-nodes")
export class Nodes extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();
  @state() private sorting: Sorting = { column: "name", descending: false };
  private shown: NodeRow[] = [];
  private readonly nodes = new Loader<Found>(this, (signal) => find(this.selector(), signal), {
    every: 10_000,
    key: () => this.selector(),
  });

  static override styles = [
    shared,
    css`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: min(24rem, calc(100vw - 2 * var(--s4)));
      }
    `,
  ];

  protected override willUpdate(): void {
    const { value } = this.nodes;
    if (!value) return;
    const given = this.selector() ? "" : this.given();
    this.shown = filterNodes(value.nodes, nodeFilter(given)).sort(this.compare(value));
  }

  protected override render(): TemplateResult {
    return html`<div class="stack tight">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name, zone, taint, room or labels"
            placeholder="Filter: words, cpu>2, zone=a"
            title="Words in the name, zone or taints; room, such as cpu>2 memory>4Gi; labels, such as disk=ssd"
            .value=${this.given()}
            @input=${(event: InputEvent) => refine({ name: (event.target as HTMLInputElement).value })}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(
        ({ nodes, suffix, columns }) =>
          html`<p class="quiet">
              ${this.shown.length === nodes.rows.length ? nothing : `${amount(this.shown.length)} of `}${counted(nodes.rows.length, "node")}; bars show
              what pods request${suffix ? html` · names end in <span class="mono">${suffix}</span>` : nothing}
            </p>
            <mooring-grid
              label="Nodes"
              .columns=${columns}
              .rows=${this.shown}
              .keyOf=${(row: NodeRow) => row.name}
              .sorting=${this.sorting}
              empty="No node matches."
              @mooring-sort=${(event: CustomEvent<string>) => this.sort(event.detail)}
              @mooring-open=${(event: CustomEvent<NodeRow>) => (location.hash = link(["nodes", event.detail.name]))}
            ></mooring-grid>`,
      )}
    </div>`;
  }

  private copies(): ReturnType<typeof copiesOf> {
    const labelSelector = this.selector();
    const command = `kubectl get nodes${labelSelector ? ` -l ${quoted(labelSelector)}` : ""}`;
    const request = { includeUsage: true, ...(labelSelector ? { labelSelector } : {}) };
    return [...copiesOf("", "ClusterService/ListNodes", request), { name: "kubectl", text: command }];
  }

  private given(): string {
    return this.query.get("name") ?? "";
  }

  /** What is typed, where it is about labels. */
  private selector(): string {
    const given = this.given();
    return isSelector(given) && !isAboutRoom(given) ? given : "";
  }

  private sort(column: string): void {
    const words = ["name", "zone", "taints"].includes(column);
    const descending = this.sorting.column === column ? !this.sorting.descending : !words;
    this.sorting = { column, descending };
  }

  private compare({ nodes, selected }: Found): (a: NodeRow, b: NodeRow) => number {
    const { column, descending } = this.sorting;
    const by = comparer(column, nodes.resources, selected);
    return (a, b) => (descending ? -1 : 1) * by(a, b) || COLLATOR.compare(a.name, b.name);
  }
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

function comparer(column: string, resources: string[], selected: Found["selected"]): (a: NodeRow, b: NodeRow) => number {
  if (column === "name") return (a, b) => COLLATOR.compare(a.name, b.name);
  if (column === "zone") return (a, b) => COLLATOR.compare(a.zone, b.zone);
  if (column === "taints") return (a, b) => Number(b.cordoned) - Number(a.cordoned) || COLLATOR.compare(b.taints, a.taints);
  if (column === "selected") return (a, b) => (selected.get(a.name)?.count ?? 0) - (selected.get(b.name)?.count ?? 0);
  const resource = resources.indexOf(column);
  return (a, b) => taken(a, resource) - taken(b, resource);
}

function columnsOf({ resources, rows }: NodeRows, suffix: string, selected: Found["selected"]): GridColumn<NodeRow>[] {
  const zoned = rows.some(({ zone }) => zone);
  const zone: GridColumn<NodeRow> = { id: "zone", title: "Zone", width: "7rem", sortable: true, cell: ({ zone: name }) => html`<span title=${name}>${name}</span>` };
  return [
    {
      id: "name",
      title: "Node",
      width: "min(13rem, 45vw)",
      sortable: true,
      cell: ({ name }) =>
        html`<a tabindex="-1" href=${link(["nodes", name])} title=${name}>${name.slice(0, name.length - suffix.length)}</a>`,
    },
    ...(zoned ? [zone] : []),
    ...shownResources(resources).map((resource) => room(resource, resources.indexOf(resource))),
    { id: "taints", title: "Keeps pods away", width: "minmax(11rem, 1fr)", sortable: true, cell: away },
    { id: "selected", title: "Selected", width: "6rem", numeric: true, sortable: true, cell: ({ name }) => amount(selected.get(name)?.count ?? 0) },
    { id: "last", title: "Last selected for", width: "minmax(11rem, 1fr)", cell: ({ name }) => lastOf(selected.get(name)) },
  ];
}

function room(resource: string, at: number): GridColumn<NodeRow> {
  const titles: Record<string, string> = { cpu: "CPU", memory: "Memory", pods: "Pods" };
  return {
    id: resource,
    title: titles[resource] ?? resource,
    width: "10.5rem",
    sortable: true,
    cell: (row) => {
      const [offers, takes] = [row.offers[at]!, row.takes[at]!];
      if (!offers) return html`<span class="quiet">none</span>`;
      const [used, all] = [quantity(resource, takes), quantity(resource, offers)];
      const tone = takes >= offers ? "; --bar: var(--bad)" : "";
      return html`<span class="bar" title="${used} of ${all} requested, ${quantity(resource, Math.max(0, offers - takes))} left"
        ><i .style=${`--share: ${Math.min(100, (100 * takes) / offers)}%${tone}`}></i><span>${used} / ${all}</span></span
      >`;
    },
  };
}

function away({ cordoned, taints }: NodeRow): TemplateResult | typeof nothing {
  if (!cordoned && !taints) return nothing;
  return html`${cordoned ? html`<span class="warn">⚠ cordoned</span> ` : nothing}<span class="mono" title=${taints}>${taints}</span>`;
}

function lastOf(selection: Selection | undefined): TemplateResult {
  if (!selection) return html`<span class="quiet">–</span>`;
  const { last } = selection;
  return html`<a tabindex="-1" href=${link(["decisions", last.seq!])} title=${podName(last.pod)}>${podName(last.pod)}</a>
    <span class="quiet">${age(last.time)} ago</span>`;
}

async function find(labelSelector: string, signal: AbortSignal): Promise<Found> {
  const request = { includeUsage: true, ...(labelSelector ? { labelSelector } : {}) };
  const [answer, decisions] = await Promise.all([call("ClusterService/ListNodes", request, signal), recentDecisions(signal)]);
  const nodes = nodeRows(answer);
  const suffix = commonSuffix(nodes.rows.map(({ name }) => name));
  const selected = new Map<string, Selection>();
  for (const last of decisions) if (last.node) selected.set(last.node, { last, count: (selected.get(last.node)?.count ?? 0) + 1 });
  return { nodes, suffix, selected, columns: columnsOf(nodes, suffix, selected) };
}
