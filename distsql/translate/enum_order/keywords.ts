import { keywordSet } from "../../../sql/list_words.ts";

/** Keywords that end an operand, or that cannot be an alias or column without quotes. */
export const RESERVED: ReadonlySet<string> = keywordSet(`
  ALL ANALYSE ANALYZE AND ANY AS ASC BETWEEN BY CASE CHECK COLLATE CONSTRAINT CREATE
  CROSS DEFAULT DELETE DESC DISTINCT DO ELSE END EXCEPT EXISTS FETCH FILTER FOR
  FOREIGN FROM FULL GENERATED GROUP HAVING ILIKE IN INCLUDE INNER INSERT INTERSECT
  INTO IS ISNULL JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NOTNULL NULLS OFFSET ON ONLY
  OR ORDER OUTER OVER OVERLAPS PARTITION PRIMARY RANGE REFERENCES RETURNING RIGHT ROWS
  SELECT SET SIMILAR SOME SYMMETRIC TABLE THEN TO UNION UNIQUE UPDATE USING VALUES
  VIEW WHEN WHERE WINDOW WITH WITHIN
`);

/** Operators that compare by order. */
export const ORDERING: ReadonlySet<string> = new Set(["<", ">", "<=", ">="]);

/** Operators that compare for equality. */
export const EQUALITY: ReadonlySet<string> = new Set(["=", "<>", "!="]);

/** Reserved words that may be part of an operand. */
const OPERAND_TAILS: ReadonlySet<string> = new Set(["END", "COLLATE", "FILTER", "OVER"]);

/** Checks for a token that ends an operand of a comparison. */
export function endsOperand(key: string): boolean {
  return key === "," || key === ";" || ORDERING.has(key) || EQUALITY.has(key) || key === ":=" ||
    key === "=>" ||
    (RESERVED.has(key) && !OPERAND_TAILS.has(key));
}

/** Functions that return an argument, and so its enum. */
export const TRANSPARENT: ReadonlySet<string> = keywordSet(`
  COALESCE NULLIF GREATEST LEAST MIN MAX FIRST_VALUE LAST_VALUE NTH_VALUE LAG LEAD
  ANY_VALUE MODE UNNEST ARRAY_AGG ARRAY_APPEND ARRAY_PREPEND ARRAY_CAT ROW ARRAY
  PERCENTILE_DISC
`);

/** Functions that select by the order of their arguments. */
export const EXTREMES: ReadonlySet<string> = new Set(["MIN", "MAX", "GREATEST", "LEAST"]);
