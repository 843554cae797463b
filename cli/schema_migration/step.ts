/** A statement of a migration. */
export interface Step {
  readonly sql: string;
  /** What is lost, or when the statement fails; omitted if no data can be lost. */
  readonly risk?: string;
}

/** Renders a statement for a migration. What it may lose is in a comment. */
export function renderStep({ sql, risk }: Step): string {
  return risk === undefined ? `${sql};` : `-- Warning: ${risk}.\n${sql};`;
}
