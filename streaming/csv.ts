import { encodePercent } from "../core/http/percent_encoding.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import {
  createStreamedResponse,
  type StreamedResponse,
  type StreamOptions,
} from "./stream_response.ts";

/** The columns of a table: names of members, or the value of each column by its title. */
export type CsvColumns<TRow> =
  | readonly (keyof TRow & string)[]
  | Readonly<Record<string, (row: TRow) => unknown>>;

/** Options of {@link csvLines}. */
export interface CsvOptions<TRow> {
  /** The columns, in their order. The first line has their titles. */
  columns: CsvColumns<TRow>;
  /**
   * The character between cells. Spreadsheets with a decimal comma expect `;`.
   * @default ","
   */
  delimiter?: "," | ";" | "\t";
  /**
   * Starts with a byte order mark, without which Excel does not read UTF-8.
   * @default true
   */
  byteOrderMark?: boolean;
}

/** Options of {@link streamCsv}. */
export interface CsvResponseOptions<TRow> extends CsvOptions<TRow>, StreamOptions {
  /** The name under which a browser saves the file: `invoices.csv`. */
  fileName?: string;
}

/**
 * Renders rows as lines of CSV (RFC 4180). A text that a spreadsheet would run as a formula, because it begins with `=`, `+`,
 * `-`, `@`, a tab or a line break, gets an apostrophe in front (OWASP, "CSV Injection"); numbers stay as they are. Dates are in
 * ISO 8601, `null` and `undefined` are empty cells, and objects are JSON.
 *
 * @param rows The rows, for example pages of a query.
 * @param options The columns.
 * @returns The lines, each with its line break.
 * @throws {ConfigurationError} If there are no columns.
 *
 * @example
 * ```ts
 * import { csvLines } from "@trellis/fn/streaming";
 *
 * const rows = [{ name: "=1+1", total: -5 }];
 * for await (const line of csvLines(rows, { columns: ["name", "total"], byteOrderMark: false })) {
 *   console.log(line.trim()); // name,total, then '=1+1,-5
 * }
 * ```
 */
export async function* csvLines<TRow>(
  rows: Iterable<TRow> | AsyncIterable<TRow>,
  { columns, delimiter = ",", byteOrderMark = true }: CsvOptions<TRow>,
): AsyncGenerator<string, void, void> {
  const readers = toReaders(columns);
  const render = (cells: readonly unknown[]): string =>
    `${cells.map((cell) => renderCell(cell, delimiter)).join(delimiter)}\r\n`;
  yield (byteOrderMark ? "\ufeff" : "") + render(readers.map(([title]) => title));
  for await (const row of rows) yield render(readers.map(([, read]) => read(row)));
}

/**
 * Creates a response with rows as CSV, which is sent while the rows are read. The handler needs the option
 * `streaming: responseStreaming()`.
 *
 * @param rows The rows, or a function that is called when the head was sent. Its `signal` is aborted when the time is up, or when the client
 * leaves, which Lambda does not tell.
 * @param options The columns, the name of the file, status and headers.
 * @returns The response, of the media type `text/csv`.
 * @throws {ConfigurationError} If there are no columns.
 *
 * @example
 * ```ts
 * import { responseStreaming, streamCsv } from "@trellis/fn/streaming";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const handler = defineApiHandler({ streaming: responseStreaming(), logging: { level: "SILENT" } })(
 *   function exportNotes() {
 *     const notes = [{ id: 1, title: "milk" }];
 *     return streamCsv(notes, { columns: { Number: (note) => note.id, Title: (note) => note.title } });
 *   },
 * );
 * const { body } = await handler(createRestApiEvent(), createLambdaContext());
 * console.log(body.includes("1,milk")); // true
 * ```
 */
export function streamCsv<TRow>(
  rows:
    | Iterable<TRow>
    | AsyncIterable<TRow>
    | ((signal: AbortSignal) => Iterable<TRow> | AsyncIterable<TRow>),
  options: CsvResponseOptions<TRow>,
): StreamedResponse {
  const { columns, delimiter, byteOrderMark, fileName, headers, ...others } = options;
  toReaders(columns);
  const disposition = fileName === undefined ? undefined : {
    // RFC 6266: names beyond ASCII in the second form
    "Content-Disposition": `attachment; filename="${
      fileName.replaceAll(/[^\x20-\x7e]|["\\]/g, "_")
    }"; filename*=UTF-8''${encodePercent(fileName)}`,
  };
  return createStreamedResponse(
    (signal) =>
      csvLines(typeof rows === "function" ? rows(signal) : rows, {
        columns,
        delimiter,
        byteOrderMark,
      }),
    { ...others, headers: { ...disposition, ...headers } },
    "text/csv; charset=utf-8",
  );
}

function toReaders<TRow>(columns: CsvColumns<TRow>): [string, (row: TRow) => unknown][] {
  const readers: [string, (row: TRow) => unknown][] = Array.isArray(columns)
    ? (columns as readonly (keyof TRow & string)[]).map((name) => [name, (row) => row[name]])
    : Object.entries(columns as Readonly<Record<string, (row: TRow) => unknown>>);
  if (readers.length > 0) return readers;
  throw new ConfigurationError("A table of CSV needs at least one column: name them in columns");
}

function renderCell(value: unknown, delimiter: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  const text = toText(value);
  const safe = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /["\r\n]/.test(safe) || safe.includes(delimiter) || safe !== safe.trim()
    ? `"${safe.replaceAll('"', '""')}"`
    : safe;
}

function toText(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
