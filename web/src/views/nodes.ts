import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import type { DecisionJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import "../elements/grid";
import type { GridColumn, Sorting } from "../elements/grid";
import { age, amount, counted } from "../matrix/amounts";
import { isSelector } from "../matrix/rows";
import { copiesOf } from "../page/copies";
import { call, nodesWith } from "../page/gateway";
import { Loader } from "../page/loader";
import { link, refine } from "../page/route";
import { podName, quoted } from "../page/words";
import { shared } from "../styles";

const LOOKED_AT = 1_000;

interface Row {
  name: string;
  selected: number;
  last: DecisionJson | undefined;
}

/** All nodes, and how many of the last decisions selected each. */
@customElement("mooring-nodes")
export class Nodes extends LitElement {
  @property({ attribute: false }) query = new URLSearchParams();
  @state() private sorting: Sorting = { column: "name", descending: false };
  private readonly nodes = new Loader<{ rows: Row[]; decisions: number }>(this, (signal) => listNodes(this.selector(), signal), {
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
        width: 20rem;
      }
    `,
  ];

  protected override render(): TemplateResult {
    const given = this.query.get("name") ?? "";
    const wanted = this.selector() ? "" : given.toLowerCase();
    return html`<div class="stack">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name or labels"
            placeholder="Filter by name or labels, such as zone=a"
            .value=${given}
            @input=${(event: InputEvent) => refine({ name: (event.target as HTMLInputElement).value })}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(({ rows, decisions }) => {
        const found = rows.filter(({ name }) => name.toLowerCase().includes(wanted)).sort(this.compare());
        return html`<p class="quiet">${counted(found.length, "node")}; selections are those of the last ${counted(decisions, "decision")}</p>
          <mooring-grid
            label="Nodes"
            .columns=${COLUMNS}
            .rows=${found}
            .keyOf=${(row: Row) => row.name}
            .sorting=${this.sorting}
            empty="No node matches."
            @mooring-sort=${(event: CustomEvent<string>) => this.sort(event.detail)}
            @mooring-open=${(event: CustomEvent<Row>) => (location.hash = link(["nodes", event.detail.name]))}
          ></mooring-grid>`;
      })}
    </div>`;
  }

  private copies(): ReturnType<typeof copiesOf> {
    const labelSelector = this.selector();
    const command = `kubectl get nodes${labelSelector ? ` -l ${quoted(labelSelector)}` : ""}`;
    return copiesOf(command, "ClusterService/ListNodes", { labelSelector }, this.nodes.value?.rows ?? []);
  }

  /** What is typed, where it is about labels. */
  private selector(): string {
    const given = this.query.get("name") ?? "";
    return isSelector(given) ? given : "";
  }

  private sort(column: string): void {
    const descending = this.sorting.column === column ? !this.sorting.descending : column === "selected";
    this.sorting = { column, descending };
  }

  private compare(): (a: Row, b: Row) => number {
    const sign = this.sorting.descending ? -1 : 1;
    return this.sorting.column === "selected"
      ? (a, b) => sign * (a.selected - b.selected)
      : (a, b) => sign * COLLATOR.compare(a.name, b.name);
  }
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

const COLUMNS: GridColumn<Row>[] = [
  {
    id: "name",
    title: "Node",
    width: "min(26rem, 60vw)",
    sortable: true,
    cell: ({ name }) => html`<a tabindex="-1" href=${link(["nodes", name])} title=${name}>${name}</a>`,
  },
  { id: "selected", title: "Selected", width: "7rem", numeric: true, sortable: true, cell: ({ selected }) => amount(selected) },
  {
    id: "last",
    title: "Last selected for",
    width: "minmax(16rem, 1fr)",
    cell: ({ last }) =>
      last
        ? html`<a tabindex="-1" href=${link(["decisions", last.seq!])}>${podName(last.pod)}</a> <span class="quiet">${age(last.time)} ago</span>`
        : html`<span class="quiet">–</span>`,
  },
];

async function listNodes(selector: string, signal: AbortSignal): Promise<{ rows: Row[]; decisions: number }> {
  const [names, decisions] = await Promise.all([nodesWith(selector, signal), recent(signal)]);
  const rows = new Map(names.map((name): [string, Row] => [name, { name, selected: 0, last: undefined }]));
  for (const decision of decisions) {
    const row = rows.get(decision.node ?? "");
    if (row) [row.selected, row.last] = [row.selected + 1, decision];
  }
  return { rows: [...rows.values()], decisions: decisions.length };
}

/** A process without a journal has nodes all the same. */
async function recent(signal: AbortSignal): Promise<DecisionJson[]> {
  try {
    return (await call("DecisionService/ListDecisions", { limit: LOOKED_AT }, signal)).decisions ?? [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
