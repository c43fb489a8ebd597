import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { anyUnpack, AnySchema } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";

import { type CallError, CallErrorSchema, ErrorReason, type FieldViolation } from "./gen/mooring/v1/errors_pb.js";
import { ruleFor } from "./repeats.js";

/** A reason of the contract, such as "NODE_EPOCH_STALE". */
export type Reason = keyof typeof ErrorReason;

/** A call that could not be answered. Decide by `reason`, then by `code`, and never by the text. */
export class MooringError extends Error {
  override readonly name = "MooringError";

  constructor(
    message: string,
    /** gRPC's code. */
    readonly code: status,
    /** Why; "" if the server did not say, a number in digits for a reason that this version of the client does not know. */
    readonly reason: Reason | "" | `${number}` = "",
    /** What the reason is about; the contract names the keys for each. */
    readonly metadata: Readonly<Record<string, string>> = {},
    /** The fields of the request that are wrong. */
    readonly fieldViolations: readonly FieldViolation[] = [],
    /** Whether the same call may succeed later and can do no harm. The client has repeated it until its time was over. */
    readonly repeatable = false,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What gRPC's library says of a failed call. */
export function read(error: ServiceError, idempotent: boolean): MooringError {
  const detail = detailOf(error.metadata?.get("grpc-status-details-bin")[0]);
  const reason = detail ? ((ErrorReason[detail.reason] ?? `${detail.reason}`) as Reason | `${number}`) : "";
  const rule = ruleFor(reason, error.code, error.details);
  const repeatable = rule === "idempotent" ? idempotent : ["always", "leader", "refresh"].includes(rule);
  const { code, details } = error;
  return new MooringError(details, code, reason, detail?.metadata, detail?.fieldViolations, repeatable, { cause: error });
}

/** The contract's own detail in an encoded google.rpc.Status: its field 3 has the details. */
function detailOf(encoded: unknown): CallError | undefined {
  const reader = new BinaryReader(encoded instanceof Uint8Array ? encoded : new Uint8Array());
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === 3) {
      const detail = anyUnpack(fromBinary(AnySchema, reader.bytes()), CallErrorSchema);
      if (detail) return detail;
    } else {
      reader.skip(wire, field);
    }
  }
  return undefined;
}

/** A part of an answer that the contract promises. */
export function present<T>(part: T | undefined): T {
  if (part === undefined) throw new MooringError("the answer contradicts the contract", status.INTERNAL);
  return part;
}

export function at<T>(column: readonly T[], index: number): T {
  return present(column[index]);
}
