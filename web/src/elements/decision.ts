import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";

import { amount, counted, quantity } from "../matrix/amounts";
import { decodeMatrix } from "../matrix/decode";
import { differences } from "../matrix/differences";
import { funnel, type Stage } from "../matrix/funnel";
import { closestNode, findingsOf, isEven, type Matrix, type Plugin, scoredIndex, shortName } from "../matrix/matrix";
import { rank, type Ranking, weightsOf } from "../matrix/ranking";
import { isSelector, type Points, rowsOf } from "../matrix/rows";
import { sentence } from "../matrix/sentence";
import { weightsYaml } from "../matrix/weights_yaml";
import { shared, tokens } from "../styles";
import "./comparison";
import "./copy";
import { findingList, findingStyles, type Links } from "./findings";
import "./funnel";
import type { Grid, GridColumn, Sorting } from "./grid";
import "./grid";
import "./strip";
import "./weights";

const POINTS: readonly Points[] = ["raw", "normalized", "weighted"];
const PINS = 2;

/** The cheapest known set of changes with which the pod fits. */
export interface Advice {
  text: string;
  /** The node that takes the pod then. */
  node: string;
  /** Whether there was time to try everything. */
  complete: boolean;
}

/** Returns advice as a line. */
export function adviceLine({ text, complete }: Advice): TemplateResult {
  if (!text) return html`<p class="sentence quiet">There was no time to find what would make it fit.</p>`;
  return html`<p class="sentence"><strong>→ ${text}</strong> ${complete ? nothing : html`<span class="quiet">there was no time to try everything</span>`}</p>`;
}

/**
 * One decision: its sentence, the funnel, the matrix of nodes × plugins, weights to play with, two nodes compared, and what a
 * rejected node lacks. Give it the `columns` that the gateway answers, or their URL as `src`. It needs nothing else of the page, so
 * it can be in a notebook or in another program's page.
 */
@customElement("mooring-decision")
export class DecisionElement extends LitElement {
  @property({ attribute: false }) columns: ArrayBuffer | undefined;
  @property() src = "";
  /** Names the nodes with such labels, given as kubectl takes them; without it nodes are filtered by name and reason alone. */
  @property({ attribute: false }) nodesWith: ((selector: string) => Promise<string[]>) | undefined;

  /** What would make the pod fit: the first line. The server knows it, see SuggestChanges. */
  @property({ attribute: false }) advice: Advice | undefined;
  /** Where findings link to; without it they are text. */
  @property({ attribute: false }) links: Links | undefined;

  @state() private matrix: Matrix | undefined;
  @state() private problem = "";
  @state() private weights: readonly number[] = [];
  @state() private points: Points = "weighted";
  @state() private sorting: Sorting = { column: "total", descending: true };
  @state() private filter = "";
  /** The nodes with the labels that the filter asks for; undefined where it asks for none. */
  @state() private labelled: ReadonlySet<string> | undefined;
  @state() private filterProblem = "";
  @state() private pins: number[] = [];
  @state() private node: number | undefined;
  @query("mooring-grid") private readonly grid?: Grid<number>;

  private ranking!: Ranking;
  private stages: Stage[] = [];
  private shownColumns: GridColumn<number>[] = [];
  private rows: number[] = [];
  /** The node that lacks least, where none is feasible. */
  private nearest: number | undefined;

  static override styles = [
    tokens,
    shared,
    findingStyles,
    css`
      :host {
        background: none;
      }
      .sentence {
        font-size: 1.0625rem;
        line-height: 1.5;
        overflow-wrap: anywhere;
      }
      input[type="search"] {
        min-width: 14rem;
        flex: 1 1 14rem;
        max-width: 26rem;
      }
      mooring-grid {
        --grid-height: min(65vh, 40rem);
      }
      .legend {
        font-size: 0.8125rem;
      }
    `,
  ];

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("src") && this.src) void this.fetch();
    if (changed.has("columns") && this.columns) this.decode(this.columns);
    else if (changed.has("advice")) this.showClosest();
    if (!this.matrix) return;
    const state = changed as Map<string, unknown>;
    if (state.has("matrix") || state.has("weights")) this.ranking = rank(this.matrix, this.weights);
    if (state.has("matrix")) [this.stages, this.shownColumns] = [funnel(this.matrix), this.gridColumns(this.matrix)];
    this.rows = rowsOf(this.matrix, this.ranking, this.sorting, this.points, this.labelled ?? this.filter);
  }

  protected override render(): TemplateResult {
    if (this.problem) return html`<p class="failure" role="alert">${this.problem}</p>`;
    const { matrix } = this;
    if (!matrix) return html`<p class="quiet" role="status">Loading …</p>`;
    return html`<div class="stack">
      <div class="stack tight">
        ${this.advice ? adviceLine(this.advice) : nothing}
        <p class="sentence">${this.verdict(matrix)}</p>
        ${matrix.differences.length
          ? html`<p class="warn">⚠ Made again, it differs from what was decided: ${matrix.differences.join("; ")}</p>`
          : nothing}
        ${matrix.warnings.map((warning) => html`<p class="warn">⚠ ${warning}</p>`)}
      </div>
      ${matrix.podFindings.length
        ? html`<section class="card stack tight" aria-labelledby="whatever">
            <h2 id="whatever">Whatever the node</h2>
            ${findingList(matrix.podFindings, this.links)}
          </section>`
        : nothing}
      <div class="columns">
        <section class="card stack tight" aria-labelledby="funnel">
          <h2 id="funnel">Which nodes are feasible</h2>
          <mooring-funnel
            .stages=${this.stages}
            .total=${matrix.nodes.length}
            @mooring-filter=${(event: CustomEvent<string>) => void this.narrow(event.detail)}
          ></mooring-funnel>
        </section>
        ${matrix.plugins.length ? this.weighing(matrix) : nothing} ${matrix.scored.length ? nothing : this.details(matrix)}
        ${matrix.preemptionFindings.length
          ? html`<section class="card stack tight" aria-labelledby="preemption">
              <h2 id="preemption">Preemption</h2>
              ${findingList(matrix.preemptionFindings, this.links)}
            </section>`
          : nothing}
      </div>
      <section class="stack tight" aria-labelledby="nodes">
        ${this.toolbar(matrix)}
        ${matrix.scored.length ? this.overview(matrix) : nothing}
        <mooring-grid
          label="Nodes and what each plugin says"
          .columns=${this.shownColumns}
          .rows=${this.rows}
          .keyOf=${(node: number) => node}
          .restOf=${(node: number) => this.rejection(matrix, node)}
          .marksOf=${(node: number) => this.marks(matrix, node)}
          .sorting=${this.sorting}
          empty="No node matches the filter."
          @mooring-sort=${(event: CustomEvent<string>) => this.sort(event.detail)}
          @mooring-open=${(event: CustomEvent<number>) => (this.node = event.detail)}
          @mooring-pick=${(event: CustomEvent<number>) => this.pin(event.detail)}
        ></mooring-grid>
        <p class="quiet legend">
          ${amount(this.rows.length)} of ${counted(matrix.nodes.length, "node")} · arrow keys move, Enter shows a node, Space pins it; two
          pinned nodes are compared${matrix.suffix ? html` · names end in <span class="mono">${matrix.suffix}</span>` : nothing}
        </p>
      </section>
      ${matrix.scored.length ? html`<div class="columns">${this.details(matrix)}</div>` : nothing}
    </div>`;
  }

  private async fetch(): Promise<void> {
    try {
      const response = await fetch(this.src);
      if (!response.ok) throw new Error(`${this.src}: HTTP ${response.status}`);
      this.columns = await response.arrayBuffer();
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  private decode(columns: ArrayBuffer): void {
    try {
      this.matrix = decodeMatrix(columns);
      this.weights = weightsOf(this.matrix);
      [this.problem, this.pins, this.filter, this.labelled, this.filterProblem] = ["", [], "", undefined, ""];
      this.showClosest();
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  /** Shows the node that the advice is about, else the one with the fewest things in the way. */
  private showClosest(): void {
    const { matrix, advice } = this;
    if (!matrix || matrix.feasible) return void (this.node = this.nearest = undefined);
    const advised = advice ? matrix.nodes.indexOf(advice.node) : -1;
    this.node = this.nearest = advised < 0 ? closestNode(matrix) : advised;
  }

  private verdict(matrix: Matrix): TemplateResult {
    const { namespace = "", name = "" } = matrix.pod;
    const mark = this.ranking.selected === undefined ? html`<span class="bad">✕</span>` : html`<span class="good">✓</span>`;
    return html`${mark} <strong>${namespace}/${name}</strong> ${sentence(matrix, this.ranking, this.weights)}`;
  }

  private weighing(matrix: Matrix): TemplateResult {
    const changed = this.weights.some((weight, index) => weight !== matrix.plugins[index]!.weight);
    const { selected } = this.ranking;
    const would = selected === matrix.selected ? "still selects" : "would select";
    return html`<section class="card stack tight" aria-labelledby="weights">
      <div class="row between">
        <h2 id="weights">What if the weights were others?</h2>
        <button ?disabled=${!changed} @click=${() => (this.weights = weightsOf(matrix))}>Reset</button>
      </div>
      <mooring-weights
        .plugins=${matrix.plugins}
        .weights=${this.weights}
        @mooring-weights=${(event: CustomEvent<number[]>) => (this.weights = event.detail)}
      ></mooring-weights>
      <div class="row between">
        <p role="status">
          ${changed && selected !== undefined
            ? html`<strong>${would} ${shortName(matrix, selected)}</strong>`
            : html`<span class="quiet">The weights in force</span>`}
        </p>
        ${changed ? html`<mooring-copy .copies=${[{ name: "YAML", text: weightsYaml(matrix, this.weights) }]}></mooring-copy>` : nothing}
      </div>
    </section>`;
  }

  private toolbar(matrix: Matrix): TemplateResult {
    const by = this.nodesWith ? "name, reason or labels" : "name or reason";
    return html`<div class="row between">
        <h2 id="nodes">${matrix.plugins.length ? "Nodes × plugins" : "Nodes"}</h2>
        <input
          type="search"
          aria-label="Filter nodes by ${by}"
          placeholder="Filter by ${by}"
          .value=${this.filter}
          @input=${(event: InputEvent) => void this.narrow((event.target as HTMLInputElement).value)}
        />
        ${matrix.scored.length ? this.pointsChoice() : nothing}
      </div>
      ${this.filterProblem ? html`<p class="warn" role="status">⚠ ${this.filterProblem}</p>` : nothing}`;
  }

  /** Shows the nodes with these words, or with these labels as they are now; an answer to what is no longer typed is dropped. */
  private async narrow(words: string): Promise<void> {
    [this.filter, this.filterProblem] = [words, ""];
    if (!this.nodesWith || !isSelector(words)) {
      this.labelled = undefined;
      return;
    }
    try {
      const names = await this.nodesWith(words);
      if (this.filter === words) this.labelled = new Set(names);
    } catch (error) {
      if (this.filter === words) this.filterProblem = (error as Error).message;
    }
  }

  /** What all nodes have alike decides nothing: a line says it once in place of columns. */
  private overview(matrix: Matrix): TemplateResult {
    const even = matrix.plugins.flatMap((plugin, index) =>
      isEven(plugin) && plugin.raw.length ? [`${plugin.name} ${amount(this.pointsOf(plugin, index, 0))}`] : [],
    );
    return html`${even.length ? html`<p class="quiet legend">Equal on all scored nodes: ${even.join(", ")}</p>` : nothing}
      <mooring-strip
        .totals=${this.ranking.totals}
        @mooring-open=${(event: CustomEvent<number>) => this.reveal(event.detail)}
      ></mooring-strip>`;
  }

  private pointsOf({ raw, normalized }: Plugin, plugin: number, index: number): number {
    if (this.points === "raw") return raw[index]!;
    return normalized[index]! * (this.points === "weighted" ? this.weights[plugin]! : 1);
  }

  private pointsChoice(): TemplateResult {
    return html`<span class="segments" role="group" aria-label="Which scores">
      ${POINTS.map(
        (points) =>
          html`<button aria-pressed=${this.points === points} @click=${() => (this.points = points)}>
            ${points[0]!.toUpperCase() + points.slice(1)}
          </button>`,
      )}
    </span>`;
  }

  private gridColumns(matrix: Matrix): GridColumn<number>[] {
    const scores = matrix.plugins.flatMap((plugin, index): GridColumn<number>[] => {
      if (isEven(plugin)) return [];
      const cell = (node: number) => this.score(matrix, node, index);
      return [{ id: `plugin-${index}`, title: plugin.name, width: "9rem", numeric: true, sortable: true, cell }];
    });
    const name: GridColumn<number> = {
      id: "node",
      title: "Node",
      width: "min(14rem, 40vw)",
      sortable: true,
      cell: (node) => this.name(matrix, node),
    };
    const verdict: GridColumn<number> = {
      id: "verdict",
      title: "Verdict",
      width: matrix.scored.length ? "7.5rem" : "minmax(16rem, 1fr)",
      sortable: true,
      cell: (node) => this.verdictOf(node),
    };
    const total = { id: "total", title: "Total", width: "5.5rem", numeric: true, sortable: true, cell: (node: number) => this.total(node) };
    return matrix.scored.length ? [name, total, verdict, ...scores] : [name, verdict];
  }

  private name(matrix: Matrix, node: number): TemplateResult {
    const pinned = this.pins.includes(node) ? html`<span class="good" title="pinned">● </span>` : nothing;
    return html`${pinned}<span title=${matrix.nodes[node]!}>${shortName(matrix, node)}</span>`;
  }

  private total(node: number): string {
    const total = this.ranking.totals[node]!;
    return Number.isNaN(total) ? "" : amount(total);
  }

  private score(matrix: Matrix, node: number, plugin: number): TemplateResult | typeof nothing {
    const index = scoredIndex(matrix, node);
    if (index < 0) return nothing;
    const column = matrix.plugins[plugin]!;
    const value = this.pointsOf(column, plugin, index);
    return html`<span class="heat" .style=${`--share: ${column.normalized[index]}%`}>${amount(value)}</span>`;
  }

  private rejection(matrix: Matrix, node: number): TemplateResult | undefined {
    if (!matrix.verdicts[node]) return undefined;
    const text = findingsOf(matrix, node)
      .map(({ plugin = "", message = "" }) => `${plugin ? `${plugin}: ` : ""}${message}`)
      .join("; ");
    return html`<span class="bad" title=${text}>✕ ${text}</span>`;
  }

  private verdictOf(node: number): TemplateResult {
    if (node === this.ranking.selected) return html`<span class="good">✓ selected</span>`;
    return this.ranking.ties.includes(node) ? html`✓ tied` : html`<span class="quiet">✓ feasible</span>`;
  }

  private marks(matrix: Matrix, node: number): string {
    const marks = [];
    if (node === this.ranking.selected) marks.push("selected");
    if (this.pins.includes(node)) marks.push("picked");
    if (matrix.verdicts[node]) marks.push("rejected");
    return marks.join(" ");
  }

  private details(matrix: Matrix): TemplateResult {
    const [first, second] = this.pins;
    const pair = first !== undefined && second !== undefined;
    return html`${this.node === undefined ? nothing : this.detail(matrix, this.node)}
    ${pair ? this.comparison(matrix, first, second) : nothing}`;
  }

  private detail(matrix: Matrix, node: number): TemplateResult {
    const pinned = this.pins.includes(node);
    const found = findingsOf(matrix, node);
    return html`<section class="card stack tight" aria-labelledby="node">
      <div class="row between">
        <h2 id="node">${node === this.nearest ? "The closest: " : nothing}${matrix.nodes[node]}</h2>
        <button aria-pressed=${pinned} @click=${() => this.pin(node)}>${pinned ? "Pinned" : "Pin to compare"}</button>
      </div>
      ${found.length
        ? html`<p><span class="bad">✕ Rejected</span>: ${counted(found.length, "thing")} in the way</p>
            ${findingList(found, this.links)}`
        : this.place(matrix, node)}
      ${this.left(matrix, node)}
    </section>`;
  }

  private place(matrix: Matrix, node: number): TemplateResult {
    const { selected, totals, order } = this.ranking;
    if (node === selected) return html`<p class="good">✓ Selected.</p>`;
    if (scoredIndex(matrix, node) < 0 || selected === undefined) return html`<p>✓ Feasible; it was not scored.</p>`;
    const behind = totals[selected]! - totals[node]!;
    const place = order.indexOf(node) + 1;
    const other = html`<button @click=${() => (this.pins = [selected, node])}>Compare with ${shortName(matrix, selected)}</button>`;
    return html`<p>✓ Feasible: place ${amount(place)}, ${behind ? `${amount(behind)} behind ${shortName(matrix, selected)}` : "tied"}.</p>
      <p>${other}</p>`;
  }

  private left(matrix: Matrix, node: number): TemplateResult {
    return html`<dl class="facts">
      ${matrix.resources.map(
        ({ name, requested, free }) =>
          html`<div>
            <dt>${name}</dt>
            <dd class=${free[node]! < requested ? "bad" : ""}>
              requests ${quantity(name, requested)}, ${quantity(name, Math.max(0, free[node]!))} left
            </dd>
          </div>`,
      )}
    </dl>`;
  }

  private comparison(matrix: Matrix, first: number, second: number): TemplateResult {
    const found = differences(matrix, this.weights, first, second);
    const names = [shortName(matrix, first), shortName(matrix, second)];
    return html`<section class="card stack tight" aria-labelledby="comparison">
      <div class="row between">
        <h2 id="comparison">Two nodes compared</h2>
        <button @click=${() => (this.pins = [])}>Unpin both</button>
      </div>
      ${found.length
        ? html`<mooring-comparison .first=${names[0]} .second=${names[1]} .differences=${found}></mooring-comparison>`
        : [first, second].map((node) => html`<p><strong>${matrix.nodes[node]}</strong> ${this.rejection(matrix, node) ?? this.verdictOf(node)}</p>`)}
    </section>`;
  }

  private pin(node: number): void {
    this.pins = this.pins.includes(node) ? this.pins.filter((other) => other !== node) : [...this.pins, node].slice(-PINS);
  }

  private reveal(node: number): void {
    this.node = node;
    this.grid?.reveal(this.rows.indexOf(node));
  }

  private sort(column: string): void {
    const descending = this.sorting.column === column ? !this.sorting.descending : column !== "node" && column !== "verdict";
    this.sorting = { column, descending };
  }
}
