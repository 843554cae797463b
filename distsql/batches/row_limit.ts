/**
 * Maximum number of rows that a statement may change in one transaction: the provider allows 3,000,
 * and the progress record takes one.
 */
export const MAX_ROWS = 2999;
