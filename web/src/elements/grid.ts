import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";

import { fitted } from "../matrix/widths";
import { shared } from "../styles";

export interface GridColumn<Row> {
  id: string;
  title: string;
  /** A CSS width, such as "6rem" or "minmax(10rem, 2fr)". */
  width: string;
  numeric?: boolean;
  sortable?: boolean;
  cell: (row: Row) => TemplateResult | string | typeof nothing;
}

export interface Sorting {
  column: string;
  descending: boolean;
}

const ROW_PIXELS = 30;
const BEYOND = 4;

/**
 * A table of any size: only the rows and columns in sight are there. The first column stays when the others are scrolled. A column
 * whose content is cut becomes wider if another column has room left.
 *
 * Rows that are undefined are not read yet: "mooring-range" says which rows are in sight, as [from, to).
 *
 * Arrow keys, Page Up and Down, Home and End move, Enter opens the row ("mooring-open"), Space picks it ("mooring-pick"); the
 * row is the event's detail. A click on a title is "mooring-sort", with the column's id.
 */
@customElement("mooring-grid")
export class Grid<Row> extends LitElement {
  @property({ attribute: false }) columns: GridColumn<Row>[] = [];
  @property({ attribute: false }) rows: ArrayLike<Row | undefined> = [];
  /** What identifies a row while others come and go. */
  @property({ attribute: false }) keyOf: (row: Row) => string | number = (row) => String(row);
  /** Words that mark a row: "selected", "picked", "bad". */
  @property({ attribute: false }) marksOf: (row: Row) => string = () => "";
  /** What a row says in place of all columns but the first; nothing where it has them. */
  @property({ attribute: false }) restOf: (row: Row) => TemplateResult | undefined = () => undefined;
  @property({ attribute: false }) sorting: Sorting | undefined;
  @property() label = "";
  @property() empty = "Nothing here.";

  @state() private activeKey: string | number | undefined;
  @state() private first = 0;
  @state() private shown = 40;
  /** Columns in sight beside the first one: from, and up to but not including. */
  @state() private from = 1;
  @state() private to = Infinity;
  /** Widths in pixels; undefined for columns that are as they are declared. */
  @state() private widths: readonly (number | undefined)[] = [];
  @query(".scroller") private readonly scroller!: HTMLElement;

  private declared: number[] = [];
  private wanted: number[] = [];
  /** The active row while it is not read yet. */
  private awaited: number | undefined;
  private told = "";
  private readonly sized = new ResizeObserver(() => {
    this.forgetWidths();
    this.measure();
    void this.updateComplete.then(() => this.fit());
  });

  static override styles = [
    shared,
    css`
      .scroller {
        overflow: auto;
        max-height: var(--grid-height, 70vh);
        border: 1px solid var(--line);
        border-radius: calc(2 * var(--radius));
        background: var(--raised);
        overscroll-behavior-x: contain;
      }
      .scroller:focus-visible {
        outline-offset: -2px;
      }
      .all {
        min-width: max-content;
        position: relative;
      }
      .line {
        display: grid;
        height: 30px;
        align-items: stretch;
        contain: layout style;
      }
      .titles {
        position: sticky;
        top: 0;
        z-index: 2;
        background: var(--sunken);
        border-bottom: 1px solid var(--line);
      }
      .window {
        position: absolute;
        inset-inline: 0;
      }
      .line > * {
        padding: 0 var(--s3);
        line-height: 30px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        min-width: 0;
      }
      .line > :first-child {
        position: sticky;
        left: 0;
        z-index: 1;
        background: inherit;
        border-inline-end: 1px solid var(--line);
      }
      .rest {
        grid-column: 2 / -1;
      }
      .numeric {
        text-align: end;
      }
      [role="columnheader"] {
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      [role="columnheader"] button {
        all: unset;
        cursor: pointer;
        max-width: 100%;
        overflow: hidden;
        text-overflow: ellipsis;
        vertical-align: top;
      }
      [role="columnheader"] button:hover {
        color: var(--text);
      }
      [role="columnheader"] button:focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      [aria-sort] {
        color: var(--text);
        font-weight: 600;
      }
      .body .line {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        cursor: default;
      }
      .body .line:hover {
        background: var(--sunken);
      }
      .line.selected {
        font-weight: 600;
      }
      .line.picked {
        background: var(--tint) !important;
      }
      .line.rejected .cell:first-child {
        color: var(--quiet);
      }
      .line.active {
        background: var(--sunken);
      }
      .scroller:focus-visible .line.active {
        box-shadow: inset 3px 0 var(--accent);
        background: var(--tint);
      }
      .empty {
        padding: var(--s5) var(--s4);
      }
      .bar {
        display: grid;
        grid-template-columns: 1fr max-content;
        gap: var(--s2);
        align-items: center;
      }
      .bar i {
        height: 8px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--bar, var(--accent)) var(--share), var(--sunken) var(--share));
        border: 1px solid var(--line);
      }
      .heat {
        display: block;
        margin: 0 calc(-1 * var(--s3));
        padding: 0 var(--s3);
        background: linear-gradient(to left, var(--heat) var(--share), transparent var(--share));
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    void this.updateComplete.then(() => this.sized.observe(this.scroller));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sized.disconnect();
  }

  protected override updated(changed: PropertyValues): void {
    if (changed.has("columns")) this.measureColumns();
    if (changed.has("columns") || changed.has("rows")) this.fit();
    this.tellRange();
  }

  protected override willUpdate(changed: PropertyValues): void {
    if (changed.has("columns")) this.forgetWidths();
    const row = this.awaited === undefined ? undefined : this.rows[this.awaited];
    if (row !== undefined) [this.activeKey, this.awaited] = [this.keyOf(row), undefined];
    if (changed.has("rows")) this.first = Math.max(0, Math.min(this.first, this.rows.length - this.shown));
  }

  protected override render(): TemplateResult {
    // The last, nameless one takes the room that is left, so that what spans all columns spans it too.
    const widths = this.columns.map(({ width }, index) => (this.widths[index] === undefined ? width : `${this.widths[index]}px`));
    const template = [...widths, "auto"].join(" ");
    const end = Math.min(this.rows.length, this.first + this.shown);
    const active = this.activeIndex(this.first, end);
    return html`<div
      class="scroller"
      role="grid"
      tabindex="0"
      aria-label=${this.label}
      aria-rowcount=${this.rows.length + 1}
      aria-colcount=${this.columns.length}
      aria-activedescendant=${active < 0 ? nothing : `row-${active}`}
      @scroll=${this.measure}
      @keydown=${this.onKey}
    >
      <div class="all" role="presentation">
        <div class="titles line" role="row" aria-rowindex="1" .style=${`grid-template-columns: ${template}`}>
          ${this.columns.map((column) => this.heading(column))}
        </div>
        <div class="body" role="presentation" .style=${`height: ${this.rows.length * ROW_PIXELS}px`}>
          <div class="window" role="presentation" .style=${`top: ${(this.first + 1) * ROW_PIXELS}px`}>
            ${Array.from({ length: Math.max(0, end - this.first) }, (_, offset) =>
              this.line(this.first + offset, template, active),
            )}
          </div>
        </div>
      </div>
      ${this.rows.length ? nothing : html`<p class="empty">${this.empty}</p>`}
    </div>`;
  }

  /** Moves to the row and shows it. */
  reveal(index: number): void {
    if (index < 0 || index >= this.rows.length) return;
    const row = this.rows[index];
    [this.activeKey, this.awaited] = row === undefined ? [undefined, index] : [this.keyOf(row), undefined];
    const top = index * ROW_PIXELS;
    const room = this.scroller.clientHeight - 2 * ROW_PIXELS;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room;
    this.measure();
  }

  private heading(column: GridColumn<Row>): TemplateResult {
    const sorted = this.sorting?.column === column.id ? this.sorting : undefined;
    const direction = sorted && (sorted.descending ? "descending" : "ascending");
    const arrow = sorted ? (sorted.descending ? " ↓" : " ↑") : "";
    return html`<div role="columnheader" aria-colindex=${this.columns.indexOf(column) + 1} class=${column.numeric ? "numeric" : ""} aria-sort=${direction ?? nothing} title=${column.title}>
      ${column.sortable
        ? html`<button @click=${() => this.tell("mooring-sort", column.id)}>${column.title}${arrow}</button>`
        : column.title}
    </div>`;
  }

  private line(index: number, template: string, active: number): TemplateResult {
    const row = this.rows[index];
    if (row === undefined) return waiting(index);
    return html`<div
      class="line ${this.marksOf(row)} ${index === active ? "active" : ""}"
      role="row"
      id="row-${index}"
      aria-rowindex=${index + 2}
      aria-selected=${index === active}
      .style=${`grid-template-columns: ${template}`}
      @click=${(event: MouseEvent) => this.onClick(event, row)}
    >
      ${this.columns.slice(0, 1).map((column) => cell(column, row, 0))} ${this.rest(row)}
    </div>`;
  }

  private rest(row: Row): TemplateResult | TemplateResult[] {
    const said = this.restOf(row);
    if (!said) return this.columns.slice(this.from, this.to).map((column, offset) => cell(column, row, this.from + offset));
    return html`<div role="gridcell" class="cell rest" aria-colindex="2" aria-colspan=${this.columns.length - 1}>${said}</div>`;
  }

  private activeIndex(begin = 0, end = this.rows.length): number {
    const { awaited = -1 } = this;
    if (this.activeKey === undefined) return awaited >= begin && awaited < end ? awaited : -1;
    for (let index = begin; index < end; index++) {
      const row = this.rows[index];
      if (row !== undefined && this.keyOf(row) === this.activeKey) return index;
    }
    return -1;
  }

  private tellRange(): void {
    const range = [this.first, Math.min(this.rows.length, this.first + this.shown)];
    if (this.told === range.join()) return;
    this.told = range.join();
    this.tell("mooring-range", range);
  }

  /** Gives the room of columns that don't need it to those whose content is cut. */
  private fit(): void {
    const titles = this.scroller.querySelectorAll<HTMLElement>('[role="columnheader"]');
    if (!this.widths.length) this.declared = Array.from(titles, (title) => title.offsetWidth);
    for (const each of this.scroller.querySelectorAll<HTMLElement>(".line > [aria-colindex]:not(.rest)")) {
      const index = Number(each.ariaColIndex) - 1;
      this.wanted[index] = Math.max(this.wanted[index] ?? 0, Math.ceil(contentWidth(each)));
    }
    const flexible = this.columns.map(({ width }) => /\dfr/.test(width));
    const widths = fitted(this.scroller.clientWidth, this.declared, this.wanted, flexible);
    if (widths.join() !== this.widths.join()) this.widths = widths;
  }

  private forgetWidths(): void {
    [this.widths, this.declared, this.wanted] = [[], [], []];
  }

  private readonly measure = (): void => {
    const { scrollTop, clientHeight } = this.scroller;
    this.shown = Math.ceil(clientHeight / ROW_PIXELS) + 2 * BEYOND;
    this.first = Math.max(0, Math.min(Math.floor(scrollTop / ROW_PIXELS) - BEYOND, this.rows.length - this.shown));
    this.measureColumns();
  };

  private measureColumns(): void {
    const { scrollLeft, clientWidth } = this.scroller;
    const titles = Array.from(this.scroller.querySelectorAll<HTMLElement>('[role="columnheader"]'));
    const inSight = (title: HTMLElement) =>
      title.offsetLeft < scrollLeft + clientWidth && title.offsetLeft + title.offsetWidth > scrollLeft;
    const found = titles.flatMap((title, index) => (index && inSight(title) ? [index] : []));
    [this.from, this.to] = [found[0] ?? 1, (found.at(-1) ?? titles.length) + 1];
  }

  private onClick(event: MouseEvent, row: Row): void {
    if (event.composedPath().some((target) => target instanceof HTMLAnchorElement)) return;
    this.activeKey = this.keyOf(row);
    this.tell("mooring-open", row);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_PIXELS) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    const at = this.activeIndex();
    const row = this.rows[at];
    if (step !== undefined) this.reveal(Math.max(0, Math.min(this.rows.length - 1, at + step)));
    else if (event.key === "Enter" && row !== undefined) this.tell("mooring-open", row);
    else if (event.key === " " && row !== undefined) this.tell("mooring-pick", row);
    else return;
    event.preventDefault();
  }

  private tell(type: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Returns how wide the content of a cell is, whether it is cut or not. */
function contentWidth(cell: HTMLElement): number {
  const border = cell.offsetWidth - cell.clientWidth;
  if (cell.scrollWidth > cell.clientWidth) return cell.scrollWidth + border + 1;
  const range = document.createRange();
  range.selectNodeContents(cell);
  const style = getComputedStyle(cell);
  return range.getBoundingClientRect().width + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + border + 1;
}

/** Returns the line of a row that is not read yet. */
function waiting(index: number): TemplateResult {
  return html`<div class="line" role="row" aria-rowindex=${index + 2} aria-busy="true"><div role="gridcell" class="quiet">…</div></div>`;
}

function cell<Row>(column: GridColumn<Row>, row: Row, index: number): TemplateResult {
  return html`<div
    role="gridcell"
    class=${column.numeric ? "cell numeric" : "cell"}
    aria-colindex=${index + 1}
    .style=${`grid-column: ${index + 1}`}
  >
    ${column.cell(row)}
  </div>`;
}
