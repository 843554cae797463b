import type { Statement } from "./syntax/statements.ts";
import { findNodes } from "./syntax/syntax_tree.ts";
import {
  commandComplete,
  frame,
  textDataRow,
  textRowDescription,
  type WireMessage,
} from "./wire.ts";

/**
 * Answer of a statement: whole messages; RowDescription is separate because the extended protocol
 * sends it earlier.
 */
export interface Answer {
  readonly description?: Uint8Array;
  readonly messages: readonly Uint8Array[];
}

/** Passes messages of the database on. */
export function relay(messages: readonly WireMessage[]): Answer {
  return {
    messages: messages.filter(({ type }) => type !== "Z").map(({ type, payload }) =>
      frame(type, payload)
    ),
  };
}

/** Creates the answer of a statement without rows. */
export function tagged(tag: string): Answer {
  return { messages: [commandComplete(tag)] };
}

/** Returns the number of rows by the command tag. */
export function affectedRows(messages: readonly WireMessage[]): number {
  const complete = messages.find((message) => message.type === "C");
  const tag = complete ? new TextDecoder().decode(complete.payload.subarray(0, -1)) : "";
  return /^(INSERT|UPDATE|DELETE|COPY) /.test(tag) ? Number(tag.split(" ").at(-1)) : 0;
}

/** Creates the answer of a statement that starts a job, or that has nothing to do. */
export function createJobAnswer(tag: string, jobId: string | undefined): Answer {
  const rows = jobId === undefined ? [] : [textDataRow([jobId])];
  return {
    description: textRowDescription(["job_id"]),
    messages: [...rows, commandComplete(tag)],
  };
}

/**
 * Checks whether the command tag may hide changed rows: UPDATE and DELETE cascade, and WITH has
 * several parts.
 */
export function hidesRows(statement: Statement): boolean {
  return statement.type !== "InsertStmt" || findNodes(statement.node, "CommonTableExpr").length > 0;
}
