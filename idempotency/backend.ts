/** A request or message, as stored. */
export interface RecordKey {
  /** Unique for the function, the scope and the key. */
  readonly id: string;
  /** What duplicates must have in common with the first request; empty if nothing. */
  readonly fingerprint: string;
}

/** How long an execution and its result are protected. */
export interface RecordTerms {
  /** Seconds until an execution that was not completed counts as dead. */
  readonly leaseSeconds: number;
  /** Seconds that the result is kept. */
  readonly ttlSeconds: number;
}

/** An execution that holds the lease of a record. */
export interface Attempt extends RecordTerms {
  /** Id of the record. */
  readonly id: string;
  /** Unique for the execution: after it has lost its lease, it cannot change the record. */
  readonly fence: string;
}

/** Answer to the attempt to claim a record. */
export type Claim =
  | { readonly state: "claimed"; readonly fence: string }
  | { readonly state: "running"; readonly fingerprint: string }
  | { readonly state: "done"; readonly fingerprint: string; readonly result: string };

/** Transactions of a backend that stores records beside the application's own rows. */
export interface BackendTransactions<TTransaction> {
  /** Runs work between BEGIN and COMMIT. Runs it again after a conflict. */
  run<T>(work: (tx: TTransaction) => Promise<T>): Promise<T>;
  /** Stores the result within the transaction. Returns `false` if the lease was lost. */
  complete(tx: TTransaction, attempt: Attempt, result: string): Promise<boolean>;
  /** Returns the committed result of an attempt, or `undefined`. */
  find(attempt: Attempt): Promise<string | undefined>;
}

/** Storage of records. Implement it to store them elsewhere, and pass it to `createIdempotencyStore`. */
export interface IdempotencyBackend<TTransaction = never> {
  /** Largest result in bytes. A larger one is not stored: its duplicates are rejected. */
  readonly maxResultBytes: number;
  /** Claims a record that does not exist, has expired, or whose lease has ended. Must be atomic. */
  claim(record: RecordKey, terms: RecordTerms): Promise<Claim>;
  /** Stores the result, if the attempt still holds the lease. Returns `false` if it does not. */
  complete(attempt: Attempt, result: string): Promise<boolean>;
  /** Deletes the record, if the attempt still holds the lease. */
  release(attempt: Attempt): Promise<void>;
  /** Missing if the records cannot be part of a transaction of the application. */
  readonly transactions?: BackendTransactions<TTransaction>;
}
