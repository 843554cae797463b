/** A statement of a migration. */
export interface Step {
  readonly sql: string;
  /** What is lost, or when the statement fails; omitted if no data can be lost. */
  readonly risk?: string;
}
