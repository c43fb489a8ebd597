import { html, LitElement, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import { Loader } from "../page/loader";
import { getManifest, toYaml } from "../page/manifests";
import { shared } from "../styles";

/** The manifest of a pod as the process knows it now, read when it is opened. */
@customElement("mooring-manifest")
export class ManifestView extends LitElement {
  @property() namespace = "";
  @property() name = "";
  @state() private open = false;

  private readonly text = new Loader<string>(this, (signal) => this.read(signal), {
    key: () => `${this.namespace}/${this.name} ${this.open}`,
  });

  static override styles = [shared];

  protected override render(): TemplateResult {
    return html`<details class="card" @toggle=${(event: Event) => (this.open = (event.target as HTMLDetailsElement).open)}>
      <summary>Manifest, as far as scheduling reads it</summary>
      ${this.text.show((text) => html`<pre tabindex="0" aria-label="Manifest">${text}</pre>`)}
    </details>`;
  }

  private async read(signal: AbortSignal): Promise<string> {
    return this.open ? toYaml(await getManifest("Pod", this.namespace, this.name, signal)) : "";
  }
}
