import { ValidationError } from "@trellis/fn/errors";
import * as z from "zod";

/** Query parameters of a list. */
export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: z.string().max(400).optional(),
});

/** The sort key of the last row of a page: a column, and the id for rows with the same value. */
export type Position = readonly [value: string, id: string];

const PositionSchema = z.tuple([z.string(), z.uuid()]);

/** A page of rows. */
export interface Page<TRow> {
  items: TRow[];
  /** The cursor of the next page, `null` on the last one. */
  nextCursor: string | null;
}

/**
 * Makes a page of rows that were read with a limit of one more.
 *
 * @param rows The rows, one more than the limit if there is a next page.
 * @param limit Rows of a page.
 * @param getPosition Returns the sort key of a row.
 */
export function toPage<TRow>(
  rows: readonly TRow[],
  limit: number,
  getPosition: (row: TRow) => Position,
): Page<TRow> {
  const items = rows.slice(0, limit);
  const hasNext = rows.length > limit;
  return { items, nextCursor: hasNext ? encodeCursor(getPosition(items[limit - 1])) : null };
}

/** Encodes as URL-safe base64, because names can contain any character. */
function encodeCursor(position: Position): string {
  const bytes = new TextEncoder().encode(JSON.stringify(position));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Reads a cursor.
 *
 * @throws {ValidationError} If it is not a cursor of a list.
 */
export function decodeCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  try {
    const text = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return PositionSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    throw new ValidationError("The cursor is invalid", {
      errors: { "query.cursor": ["is not a cursor of this list"] },
    });
  }
}
