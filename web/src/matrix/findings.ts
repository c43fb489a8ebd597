/** What plugins found, in the words and units of the page. */

import type { FindingJson, HolderJson } from "../contract/mooring/v1/findings_pb";
import { amount, quantity } from "./amounts";

/** Returns the cause: "TaintNotTolerated", or a plugin's own word; empty if it has none. */
export function causeOf({ code, customCode = "" }: FindingJson): string {
  const words = (code ?? "").replace("REASON_CODE_", "").toLowerCase().split("_");
  return customCode || words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Returns what the finding is about, with its kind: "taint team=db:NoSchedule"; empty if that is the node alone. */
export function subjectOf({ subjectKind, subject = "" }: FindingJson): string {
  const kind = (subjectKind ?? "").replace("SUBJECT_KIND_", "").replaceAll("_", " ").toLowerCase();
  if (!subject) return "";
  return kind === "other" || !kind ? subject : `${kind} ${subject}`;
}

/** Returns an amount in the unit of the finding's subject. */
export function measured({ subjectKind, subject = "" }: FindingJson, value: string | undefined): string {
  const count = Number(value ?? 0);
  return subjectKind === "SUBJECT_KIND_RESOURCE" ? quantity(subject, count) : amount(count);
}

/** Returns "asks 64 · 0.5 of 4 taken"; the pod's and the node's words if nothing is counted. */
export function comparison(finding: FindingJson): string {
  const { amounts, asked = "", present = "" } = finding;
  if (amounts) {
    const [wanted, taken, limit] = [amounts.asked, amounts.taken, amounts.limit].map((value) => measured(finding, value));
    return `asks ${wanted} · ${taken} of ${limit} taken`;
  }
  return [asked && `asks ${asked}`, present && `has ${present}`].filter(Boolean).join(" · ");
}

/** Returns the subject and what was compared, as far as the message does not say it. */
export function factsOf(finding: FindingJson): string {
  const { message = "", subject = "", asked = "", present = "", amounts } = finding;
  const told = !amounts && [asked, present].every((words) => message.includes(words));
  return [message.includes(subject) ? "" : subjectOf(finding), told ? "" : comparison(finding)].filter(Boolean).join(": ");
}

/** Returns whether a holder is a pod, which has a view of its own. */
export function isPod({ kind }: HolderJson): boolean {
  return !["HOLDER_KIND_ATTACHMENT", "HOLDER_KIND_RESOURCE_CLAIM", "HOLDER_KIND_DOMAIN"].includes(kind ?? "");
}
