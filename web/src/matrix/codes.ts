/** The reason codes, read from docs/reason-codes.md. */

export interface CodeEntry {
  name: string;
  number: string;
  subject: string;
  meaning: string;
  /** kube-scheduler's text; empty if it has none for the cause. */
  text: string;
  /** The plugin, or "Several plugins". */
  plugin: string;
}

/** Returns the rows of the document's tables; the heading before a table names the plugin. */
export function codesIn(document: string): CodeEntry[] {
  let plugin = "";
  return document.split("\n").flatMap((line) => {
    if (line.startsWith("## ")) plugin = line.slice(3).trim();
    const [, name, number = "", subject = "", meaning = "", text = ""] = line.split("|").map((cell) => cell.trim());
    return name?.startsWith("`") ? [{ name: plain(name), number, subject, meaning: plain(meaning), text: plain(text), plugin }] : [];
  });
}

function plain(cell: string): string {
  return cell.replaceAll("`", "");
}
