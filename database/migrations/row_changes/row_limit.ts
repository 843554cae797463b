/** Rows that a statement may change in one transaction: the provider takes 3,000, and one is the note of the progress. */
export const MAX_ROWS = 2999;
