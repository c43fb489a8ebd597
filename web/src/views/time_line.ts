import { css, html, LitElement, nothing, svg, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";

import type { GetTimeLineResponseJson } from "../contract/mooring/v1/decision_service_pb";
import "../elements/copy";
import { amount, seconds } from "../matrix/amounts";
import { most, pendingByCause, secondsOf, type Series, stacked } from "../matrix/series";
import { copiesOf } from "../page/copies";
import { call } from "../page/gateway";
import { Loader } from "../page/loader";
import { shared } from "../styles";

/** How far back, in hours. */
const WINDOWS: Readonly<Record<string, number>> = { "10 min": 1 / 6, "1 h": 1, "6 h": 6, "24 h": 24 };
const SPANS = 60;
const EVERY = 15_000;
const HEIGHT = 100;

/** The last hours: how many pods waited for which cause, how many decisions were made, and how long they took. */
@customElement("mooring-time-line")
export class TimeLine extends LitElement {
  /** None was chosen: an hour, or less as long as there is less to show. */
  @state() private chosen = "";
  private first = "";

  private readonly line = new Loader<GetTimeLineResponseJson>(this, (signal) => this.read(signal), {
    key: () => this.window(),
    every: EVERY,
  });

  static override styles = [
    shared,
    css`
      .plots {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
        gap: var(--s4);
      }
      svg {
        display: block;
        width: 100%;
        height: 96px;
        border-bottom: 1px solid var(--edge);
      }
      .series-0 {
        color: light-dark(#0b6679, #5cc3d8);
      }
      .series-1 {
        color: light-dark(#b3261e, #ff8f86);
      }
      .series-2 {
        color: light-dark(#8a5300, #f0b45b);
      }
      .series-3 {
        color: light-dark(#1f6e3c, #6fcf93);
      }
      .series-4 {
        color: light-dark(#56616c, #9aa6b1);
      }
      .legend {
        list-style: none;
      }
      .legend li {
        display: grid;
        grid-template-columns: 0.75rem minmax(0, 1fr) max-content;
        gap: var(--s2);
        overflow-wrap: anywhere;
      }
    `,
  ];

  protected override render(): TemplateResult {
    return html`<section class="stack tight" aria-labelledby="hours">
      <div class="row between">
        <h2 id="hours">The last hours</h2>
        <div class="row">
          <span class="segments" role="group" aria-label="How far back">
            ${Object.keys(WINDOWS).map((each) => html`<button aria-pressed=${each === this.window()} @click=${() => (this.chosen = each)}>${each}</button>`)}
          </span>
          <mooring-copy .copies=${copiesOf("", "DecisionService/GetTimeLine", this.request())}></mooring-copy>
        </div>
      </div>
      ${this.line.show((line) => this.plots(line))}
    </section>`;
  }

  private window(): string {
    const minutes = (Date.now() - Date.parse(this.first)) / 60_000;
    return this.chosen || (minutes < 10 ? "10 min" : "1 h");
  }

  private request(): { window: string; spanCount: number } {
    return { window: `${3600 * WINDOWS[this.window()]!}s`, spanCount: SPANS };
  }

  private async read(signal: AbortSignal): Promise<GetTimeLineResponseJson> {
    const line = await call("DecisionService/GetTimeLine", this.request(), signal);
    this.first = line.firstTime ?? "";
    return line;
  }

  private plots({ spans = [], firstTime }: GetTimeLineResponseJson): TemplateResult {
    const minutes = (60 * WINDOWS[this.window()]!) / SPANS;
    const per = minutes < 1 ? `in ${seconds(60 * minutes)}` : minutes === 1 ? "a minute" : `in ${amount(minutes)} min`;
    const of = (name: string, value: (span: (typeof spans)[number]) => number): Series => ({ name, values: spans.map(value) });
    const from = `${this.window()} ago`;
    return html`<div class="plots">
        ${plot("Pending pods, by cause", from, pendingByCause(spans), amount, true)}
        ${plot(
          `Decisions ${per}`,
          from,
          [of("made", ({ decisionCount = 0 }) => decisionCount), of("that placed a pod", ({ placedCount = 0 }) => placedCount)],
          amount,
        )}
        ${plot(
          "How long a decision took",
          from,
          [of("99 of 100 took at most", (span) => secondsOf(span.durationP99)), of("half took at most", (span) => secondsOf(span.durationP50))],
          seconds,
        )}
        ${spans.some(({ waitP50 }) => waitP50)
          ? plot(
              "How long placed pods had been ready",
              from,
              [of("99 of 100 at most", (span) => secondsOf(span.waitP99)), of("half at most", (span) => secondsOf(span.waitP50))],
              seconds,
            )
          : nothing}
      </div>
      <p class="quiet">${since(firstTime)}</p>`;
  }
}

function since(first: string | undefined): string {
  if (!first) return "No decision is remembered.";
  return `Decisions are remembered since ${new Date(first).toLocaleString("en-GB")}.`;
}

/** One plot: its lines, or areas on top of each other, with the largest and the newest value of each in words. */
function plot(title: string, from: string, series: readonly Series[], said: (value: number) => string, areas = false): TemplateResult {
  const edges = areas ? stacked(series) : series.map(({ values }) => ({ lower: [], upper: values }));
  const top = most(edges.flatMap(({ upper }) => upper));
  const empty = !series.some(({ values }) => values.some((value) => value > 0));
  return html`<figure class="card stack tight">
    <figcaption class="row between"><strong>${title}</strong><span class="quiet">${empty ? "none" : `at most ${said(top)}`}</span></figcaption>
    <svg viewBox="0 0 ${Math.max(1, (series[0]?.values.length ?? 1) - 1)} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
      ${edges.map(({ lower, upper }, at) => (areas ? area(lower, upper, top, at) : lines(upper, top, at)))}
    </svg>
    <div class="row between quiet"><span>${from}</span><span>now</span></div>
    <ul class="legend">
      ${series.map(
        ({ name, values }, at) =>
          html`<li><span class="series-${at}" aria-hidden="true">■</span><span>${name}</span><span>${newest(values, said)}</span></li>`,
      )}
    </ul>
  </figure>`;
}

/** Returns the newest value, or how much it was at most if there is none now. */
function newest(values: readonly number[], said: (value: number) => string): string {
  const last = values.at(-1) ?? Number.NaN;
  if (!Number.isNaN(last)) return `${said(last)} now`;
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length ? `${said(known.at(-1)!)} last` : "none";
}

function area(lower: readonly number[], upper: readonly number[], top: number, at: number): TemplateResult {
  const points = [...upper.map((value, x) => point(x, value, top)), ...lower.map((value, x) => point(x, value, top)).reverse()];
  return svg`<polygon class="series-${at}" points=${points.join(" ")} fill="currentColor" fill-opacity="0.75" />`;
}

/** A line for each stretch without a gap; a stretch of one value is a dot. */
function lines(values: readonly number[], top: number, at: number): TemplateResult[] {
  const stretches: string[][] = [[]];
  values.forEach((value, x) => (Number.isNaN(value) ? stretches.push([]) : stretches.at(-1)!.push(point(x, value, top))));
  return stretches
    .filter((stretch) => stretch.length)
    .map(
      (stretch) =>
        svg`<polyline class="series-${at}" points=${[...stretch, stretch.at(-1)].join(" ")} fill="none" stroke="currentColor"
          stroke-width=${stretch.length > 1 ? 1.5 : 4} stroke-linecap="round" vector-effect="non-scaling-stroke" />`,
    );
}

function point(x: number, value: number, top: number): string {
  return `${x},${(HEIGHT * (1 - value / top)).toFixed(2)}`;
}
