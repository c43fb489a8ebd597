import { css, html, LitElement, type TemplateResult } from "lit";
import { customElement, property, query } from "lit/decorators.js";

import { amount, counted } from "../matrix/amounts";
import { shared } from "../styles";

type Colour = [number, number, number];

/** All nodes at a glance, in their own order: the darker, the higher the total; a gap for one that is rejected. */
@customElement("mooring-strip")
export class Strip extends LitElement {
  /** One per node; NaN where it has none. */
  @property({ attribute: false }) totals: Float64Array = new Float64Array();
  @property({ attribute: false }) selected: number | undefined;

  @query("canvas") private readonly canvas!: HTMLCanvasElement;
  private readonly sized = new ResizeObserver(() => this.paint());
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");

  static override styles = [
    shared,
    css`
      canvas {
        display: block;
        width: 100%;
        height: 26px;
        border-radius: var(--radius);
        background: var(--sunken);
        image-rendering: pixelated;
        --low: var(--heat);
        --high: var(--accent);
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.scheme.addEventListener("change", this.repaint);
    addEventListener("mooring-theme", this.repaint);
    void this.updateComplete.then(() => this.sized.observe(this.canvas));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.scheme.removeEventListener("change", this.repaint);
    removeEventListener("mooring-theme", this.repaint);
    this.sized.disconnect();
  }

  protected override render(): TemplateResult {
    return html`<canvas role="img" aria-label=${this.words()} @click=${this.onClick} height="1"></canvas>`;
  }

  protected override updated(): void {
    this.paint();
  }

  private words(): string {
    const { low, high, scored } = this.range();
    const scores = scored ? `totals from ${amount(low)} to ${amount(high)}` : "no totals";
    return `${counted(this.totals.length, "node")}, ${amount(scored)} of them scored, ${scores}; the table below has each`;
  }

  private range(): { low: number; high: number; scored: number } {
    let [low, high, scored] = [Infinity, -Infinity, 0];
    for (const total of this.totals) {
      if (Number.isNaN(total)) continue;
      scored++;
      if (total < low) low = total;
      if (total > high) high = total;
    }
    return { low, high, scored };
  }

  private readonly repaint = (): void => this.requestUpdate();

  /** A column of the picture has the highest total of its nodes: what is best is never averaged away. */
  private paint(): void {
    const width = Math.max(1, Math.min(this.totals.length, Math.round(this.canvas.clientWidth)));
    const best = new Float64Array(width).fill(Number.NaN);
    this.totals.forEach((total, node) => {
      const column = Math.floor((node * width) / this.totals.length);
      if (!(best[column]! >= total) && !Number.isNaN(total)) best[column] = total;
    });
    const { low, high } = this.range();
    const [from, to] = this.colours();
    const image = new ImageData(width, 1);
    best.forEach((total, column) => {
      if (Number.isNaN(total)) return;
      const share = high > low ? (total - low) / (high - low) : 1;
      for (let band = 0; band < 3; band++) image.data[4 * column + band] = from[band]! + share * (to[band]! - from[band]!);
      image.data[4 * column + 3] = 255;
    });
    this.canvas.width = width;
    this.canvas.getContext("2d")!.putImageData(image, 0, 0);
  }

  private colours(): [Colour, Colour] {
    const styles = getComputedStyle(this.canvas);
    return [resolved(this.canvas, styles, "--low"), resolved(this.canvas, styles, "--high")];
  }

  private onClick(event: MouseEvent): void {
    const node = Math.floor((event.offsetX / this.canvas.clientWidth) * this.totals.length);
    this.dispatchEvent(new CustomEvent("mooring-open", { detail: node }));
  }
}

/** A variable's light-dark() is resolved only where it is used, so it is used for a moment. */
function resolved(element: HTMLElement, styles: CSSStyleDeclaration, variable: string): Colour {
  element.style.color = `var(${variable})`;
  const [red = 0, green = 0, blue = 0] = (styles.color.match(/[\d.]+/g) ?? []).map(Number);
  element.style.color = "";
  return [red, green, blue];
}
