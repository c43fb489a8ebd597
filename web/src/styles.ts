import { css } from "lit";

/** Colours, spaces and type: for elements that may be the outermost one. */
export const tokens = css`
  :host {
    --ground: light-dark(#f6f7f8, #101418);
    --raised: light-dark(#ffffff, #171c22);
    --sunken: light-dark(#eef0f2, #0c1013);
    --text: light-dark(#1b2229, #e3e8ec);
    --quiet: light-dark(#56616c, #9aa6b1);
    --line: light-dark(#dfe3e7, #29313a);
    --edge: light-dark(#c3cad1, #3d4853);
    --accent: light-dark(#0b6679, #5cc3d8);
    --on-accent: light-dark(#ffffff, #08212a);
    --tint: light-dark(#e1f0f3, #12303a);
    --heat: light-dark(#c4e3ea, #17495a);
    --good: light-dark(#1f6e3c, #6fcf93);
    --bad: light-dark(#b3261e, #ff8f86);
    --warn: light-dark(#8a5300, #f0b45b);
    --radius: 5px;
    --s1: 4px;
    --s2: 8px;
    --s3: 12px;
    --s4: 16px;
    --s5: 24px;
    --s6: 32px;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
    background: var(--ground);
    color: var(--text);
    font: 400 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    font-variant-numeric: tabular-nums;
  }
`;

/** What every element shares: one scale of spaces, one of sizes, few colours, numerals of one width. */
export const shared = css`
  :host {
    display: block;
    min-width: 0;
  }
  :host([hidden]) {
    display: none;
  }
  * {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  pre,
  figure {
    margin: 0;
    padding: 0;
  }
  h1 {
    font-size: 1.375rem;
    font-weight: 600;
    letter-spacing: -0.01em;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 0.9375rem;
    font-weight: 600;
    line-height: 1.4;
  }
  a {
    color: var(--accent);
    text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
    text-underline-offset: 0.2em;
  }
  a:hover {
    text-decoration-color: currentcolor;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--radius);
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--raised);
    border: 1px solid var(--edge);
    border-radius: var(--radius);
    padding: var(--s1) var(--s3);
    min-height: 2rem;
    max-width: 100%;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--quiet);
  }
  button:disabled {
    color: var(--quiet);
    cursor: default;
  }
  button[aria-pressed="true"],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  input::placeholder,
  textarea::placeholder {
    color: var(--quiet);
    opacity: 1;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.9286em;
  }
  pre {
    padding: var(--s3);
    overflow: auto;
    background: var(--sunken);
    border-radius: var(--radius);
    line-height: 1.5;
  }
  .quiet {
    color: var(--quiet);
  }
  .good {
    color: var(--good);
  }
  .bad {
    color: var(--bad);
  }
  .warn {
    color: var(--warn);
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: calc(2 * var(--radius));
    padding: var(--s4);
    min-width: 0;
  }
  .stack {
    display: flex;
    flex-direction: column;
    gap: var(--s4);
  }
  .stack.tight {
    gap: var(--s2);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--s2) var(--s3);
  }
  .row.between {
    justify-content: space-between;
  }
  .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
    gap: var(--s4);
    align-items: start;
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: var(--s1) var(--s5);
  }
  .facts > div {
    display: flex;
    gap: var(--s2);
    align-items: baseline;
  }
  .facts dt {
    color: var(--quiet);
    white-space: nowrap;
  }
  .segments {
    display: inline-flex;
  }
  .segments button {
    border-radius: 0;
    margin-inline-start: -1px;
  }
  .segments button:first-child {
    border-start-start-radius: var(--radius);
    border-end-start-radius: var(--radius);
    margin: 0;
  }
  .segments button:last-child {
    border-start-end-radius: var(--radius);
    border-end-end-radius: var(--radius);
  }
  .failure {
    border-inline-start: 3px solid var(--bad);
    background: var(--sunken);
    padding: var(--s3) var(--s4);
    border-radius: var(--radius);
    display: flex;
    flex-direction: column;
    align-items: start;
    gap: var(--s2);
    overflow-wrap: anywhere;
  }
  .empty {
    padding: var(--s5) 0;
    color: var(--quiet);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
