import type { ConflictMarker } from "./sql_error.ts";

/** Effects of the statements of the open transaction. */
export interface TransactionWork {
  hasDdl: boolean;
  hasWritten: boolean;
  /** Number of changed rows. */
  rows: number;
  /** Size of the statements and their values on the wire. */
  bytes: number;
  /** The statements. */
  readonly texts: string[];
  /** Background jobs to start at COMMIT. */
  readonly jobs: string[];
  /** Names that refer to copies. */
  readonly shadowed: Set<string>;
  /** Conflict that COMMIT will report; the transaction continues until then. */
  conflict: ConflictMarker | undefined;
}

/** Creates the record of a new transaction. */
export function newWork(): TransactionWork {
  return {
    hasDdl: false,
    hasWritten: false,
    rows: 0,
    bytes: 0,
    texts: [],
    jobs: [],
    shadowed: new Set(),
    conflict: undefined,
  };
}
