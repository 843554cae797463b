/** Rows that the provider changes in a transaction. */
export const MAX_ROWS = 3000;
