/** Receives the statements that declared queries send while a project's tests run. */
export interface QueryRecorder {
  /**
   * Runs the work of a query.
   *
   * @param name The query's name.
   * @param fn The declared function.
   * @param work Runs it.
   */
  run<T>(name: string, fn: object, work: () => T): T;
  /** Receives the text of a statement that has succeeded. */
  add(sql: string): void;
}

let recorder: QueryRecorder | undefined;

/** Sets the recorder; the package's test database does. */
export function setQueryRecorder(next: QueryRecorder | undefined): void {
  recorder = next;
}

/** Runs the work of a query, whose statements belong to it while there is a recorder. */
export function recordQuery<T>(name: string, fn: object, work: () => T): T {
  return recorder === undefined ? work() : recorder.run(name, fn, work);
}

/** Reports a statement that has succeeded. */
export function recordStatement(sql: string): void {
  recorder?.add(sql);
}
