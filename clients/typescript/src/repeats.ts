import { type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";

import type { Reason } from "./errors.js";
import { CommitMode, ScheduleGroupsRequestSchema, ScheduleRequestSchema, SchedulingService } from "./gen/mooring/v1/scheduling_service_pb.js";

/**
 * What a client does about a failed call:
 * always = repeats it, as nothing was done; idempotent = repeats it if it may happen twice; leader = repeats it at the leader;
 * refresh = lists the nodes and translates again; list = reads a list from the beginning; never = fails.
 */
export type Rule = "always" | "idempotent" | "leader" | "refresh" | "list" | "never";

const RULES: { readonly [reason in Reason]?: Rule } = {
  API_SERVER_UNAVAILABLE: "idempotent",
  DRAINING: "idempotent",
  NODE_EPOCH_STALE: "refresh",
  NOT_LEADER: "leader",
  NOT_SYNCED: "always",
  OBJECT_CHANGED: "idempotent",
  OVERLOADED: "always",
  PAGE_TOKEN_STALE: "list",
  STATE_STALE: "always",
  AUDIT_UNWRITABLE: "always",
  PLUGIN_UNAVAILABLE: "idempotent",
  WORKERS_ABANDONED: "always",
};

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

export function ruleFor(reason: Reason | "" | `${number}`, code: status, details = ""): Rule {
  if (reason === "") return code === status.UNAVAILABLE || isReset(code, details) ? "idempotent" : "never";
  return RULES[reason as Reason] ?? "never";
}

/** Whether a proxy, or a server that ends, has reset the stream: RST_STREAM with CANCEL or INTERNAL_ERROR. */
function isReset(code: status, details: string): boolean {
  return code === status.CANCELLED || (code === status.INTERNAL && details.includes("RST_STREAM"));
}

/** How long to wait before the repeat of that number, counted from 0. */
export function pauseMs(repeat: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** repeat, LONGEST_PAUSE_MS) * (1 - Math.random() / 2);
}

/** Whether the call has the same effect once or twice. */
export function isIdempotent(method: DescMethod): boolean {
  return method.idempotency !== Level.IDEMPOTENCY_UNKNOWN;
}

/** Whether the leader alone makes such a call, or knows the answer. */
export function commits(method: DescMethod, request: Message): boolean {
  const { bind, listReservations, reserve, unreserve, unreserveMany } = SchedulingService.method;
  if (isMessage(request, ScheduleRequestSchema) || isMessage(request, ScheduleGroupsRequestSchema)) {
    return request.session === "" && [CommitMode.RESERVE, CommitMode.BIND].includes(request.commitMode);
  }
  return [bind, listReservations, reserve, unreserve, unreserveMany].some((each) => each === method);
}
