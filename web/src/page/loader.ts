import type { ReactiveController, ReactiveControllerHost } from "lit";
import { html, nothing, type TemplateResult } from "lit";

import { GatewayError } from "./gateway";

interface Options<Key> {
  /** What the answer depends on; another one loads anew. */
  key?: () => Key;
  /** Loads only when it is run. */
  onRequest?: boolean;
  /** Loads again so many milliseconds after each answer, while the page is visible. */
  every?: number | (() => number);
}

/** What an element shows of a call: loads when the element is there and when its key changes, and keeps the last answer. */
export class Loader<Value, Key = string> implements ReactiveController {
  value: Value | undefined;
  error: Error | undefined;
  loading = false;
  private answered = false;
  private begun = false;
  private loadedKey: Key | undefined;
  private abort = new AbortController();
  private timer = 0;

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly load: (signal: AbortSignal) => Promise<Value>,
    private readonly options: Options<Key> = {},
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    document.addEventListener("visibilitychange", this.whenVisible);
  }

  hostUpdate(): void {
    const key = this.options.key?.();
    if (this.begun && key === this.loadedKey) return;
    this.value = this.error = undefined;
    this.answered = false;
    [this.begun, this.loadedKey] = [true, key];
    if (this.options.onRequest) this.stop();
    else void this.run();
  }

  hostDisconnected(): void {
    document.removeEventListener("visibilitychange", this.whenVisible);
    this.begun = false;
    this.stop();
  }

  /** Loads again; what is shown stays until there is an answer. */
  async run(): Promise<void> {
    this.stop();
    const { signal } = (this.abort = new AbortController());
    this.loading = true;
    if (this.options.onRequest) this.host.requestUpdate();
    try {
      const value = await this.load(signal);
      if (signal.aborted) return;
      [this.value, this.error, this.answered] = [value, undefined, true];
    } catch (error) {
      if (signal.aborted) return;
      this.error = error as Error;
    }
    this.loading = false;
    this.host.requestUpdate();
    const { every } = this.options;
    if (every) this.timer = window.setTimeout(this.whenVisible, typeof every === "number" ? every : every());
  }

  /** Shows the answer, or that there is none yet, or why there is none. */
  show(render: (value: Value) => unknown): unknown {
    if (!this.answered && !this.error) return this.loading || !this.options.onRequest ? html`<p class="quiet" role="status">Loading …</p>` : nothing;
    const failure = this.error ? failed(this.error, () => void this.run()) : nothing;
    return html`${failure}${this.answered ? render(this.value as Value) : nothing}`;
  }

  private readonly whenVisible = (): void => {
    if (!document.hidden && this.options.every && !this.loading) void this.run();
  };

  private stop(): void {
    this.abort.abort();
    this.loading = false;
    clearTimeout(this.timer);
  }
}

/** What the caller does next, by the reason or code of the contract. */
const NEXT: Record<string, string> = {
  DECISION_NOT_FOUND: "The journal is bounded: the decision is forgotten, or the process was restarted since.",
  DECISION_NOT_REPEATABLE: "Explain the pod as of now instead.",
  CONFIGURATION_NOT_FOUND: "Only the last configurations since the start are remembered: compare with another one.",
  NOT_IMPLEMENTED: "This process does not answer that: select another one, or turn the journal on.",
  POD_NOT_FOUND: "The pod is gone, or not known yet.",
  SESSION_EXPIRED: "The copy of the cluster is too old: start over.",
  SESSION_NOT_FOUND: "The copy of the cluster ended after ten minutes without a call: start over.",
  NOT_SYNCED: "The process is still reading the cluster.",
  UNAVAILABLE: "The process can't be reached: is it running, and is its address right?",
  RESOURCE_EXHAUSTED: "It has too much to do: wait a moment.",
};

/** What will be the same when it is tried again. */
const LASTING = new Set(["DECISION_NOT_FOUND", "DECISION_NOT_REPEATABLE", "CONFIGURATION_NOT_FOUND", "NOT_IMPLEMENTED"]);

/** Returns a box that says what failed, what to do, and has a button for it. */
export function failed(error: Error, retry: () => void, words = "Try again"): TemplateResult {
  const { code = "", reason = "" } = error instanceof GatewayError ? error : {};
  return html`<div class="failure" role="alert">
    <p><strong>${error.message}</strong></p>
    <p>${NEXT[reason] ?? NEXT[code] ?? nothing}</p>
    ${LASTING.has(reason) ? nothing : html`<button @click=${retry}>${words}</button>`}
  </div>`;
}
