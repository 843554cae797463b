import { misfit } from "../../core/triggers/parse_input.ts";
import { type PlainSql, sql } from "../../database/session/plain_sql.ts";
import { runSql, runSqlRows, type SqlClient } from "../../database/session/run_sql.ts";
import { hashToUuid } from "../../core/digest.ts";
import type { ChangeFragment, ChunkedChange } from "./change_envelope.ts";
import { crc32c } from "./crc32c.ts";

/**
 * Characters of a fragment in one row of the table: at most 750,000 bytes, of the 1 MiB that a text
 * has on the distributed provider.
 */
const PART_CHARACTERS = 250_000;

/** Position of the row that represents the whole chunk. */
const HEAD = -1;

/** Row that was put together. */
export interface CompleteChunk {
  /** The record that describes the row. */
  readonly main: ChunkedChange;
  /** JSON of the row. */
  readonly text: string;
}

interface HeadRow extends Record<string, unknown> {
  readonly state: string;
  readonly data: string | null;
}

/**
 * Stores a fragment, or the record that describes the fragments. Call it in a transaction: the row
 * that represents the chunk is written each time, so that of several transactions one sees them all.
 *
 * @param tx The transaction.
 * @param consumer Name of the consumer.
 * @param piece The fragment or the record.
 * @returns The row, if this piece was the last one. Its pieces are removed.
 * @throws {ValidationError} If the checksum does not match.
 */
export async function storePiece(
  tx: SqlClient,
  consumer: string,
  piece: ChangeFragment | ChunkedChange,
): Promise<CompleteChunk | undefined> {
  const chunk = await hashToUuid([consumer, piece.chunkId]);
  const data = piece.type === "chunked" ? serializeMain(piece) : null;
  const { state, main } = await touchHead(tx, { chunk, consumer, state: "open", data });
  if (state !== "open") return undefined;
  if (piece.type === "fragment") await insertParts(tx, chunk, consumer, piece);
  if (main === undefined || !await isComplete(tx, chunk, main)) return undefined;
  const text = await readText(tx, chunk, main);
  await closeChunk(tx, chunk, "done");
  return { main, text };
}

/**
 * Remembers that fragments belong to another table, and removes them.
 *
 * @param tx The transaction.
 * @param consumer Name of the consumer.
 * @param chunkId Identifies the fragments.
 */
export async function ignoreChunk(
  tx: SqlClient,
  consumer: string,
  chunkId: string,
): Promise<void> {
  const chunk = await hashToUuid([consumer, chunkId]);
  await touchHead(tx, { chunk, consumer, state: "other", data: null });
  await closeChunk(tx, chunk, "other");
}

async function touchHead(
  tx: SqlClient,
  { chunk, consumer, state, data }: {
    chunk: string;
    consumer: string;
    state: string;
    data: string | null;
  },
): Promise<{ state: string; main: ChunkedChange | undefined }> {
  const [head] = await runSqlRows<HeadRow>(
    tx,
    sql`insert into "trellis_change_parts" as p
      ("id", "chunk", "consumer", "fragment", "part", "parts", "state", "data", "received_at")
    values (${chunk}::uuid, ${chunk}::uuid, ${consumer}::text, ${HEAD}, 0, 1, ${state}::text,
      ${data}::text, clock_timestamp())
    on conflict ("id") do update set "touched" = p."touched" + 1,
      "data" = coalesce(p."data", excluded."data") returning p."state", p."data"`,
  );
  return { state: head.state, main: head.data === null ? undefined : parseMain(head.data) };
}

async function insertParts(
  tx: SqlClient,
  chunk: string,
  consumer: string,
  { index, data }: ChangeFragment,
): Promise<void> {
  const texts = splitText(data);
  for (const [part, text] of texts.entries()) {
    const id = await hashToUuid([chunk, String(index), String(part)]);
    await runSql(
      tx,
      sql`insert into "trellis_change_parts"
        ("id", "chunk", "consumer", "fragment", "part", "parts", "state", "data", "received_at")
      values (${id}::uuid, ${chunk}::uuid, ${consumer}::text, ${index}, ${part}, ${texts.length},
        'part', ${text}::text, clock_timestamp()) on conflict ("id") do nothing`,
    );
  }
}

/** Splits a text between characters. A text of PostgreSQL cannot hold half a surrogate pair. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length || parts.length === 0;) {
    const last = text.charCodeAt(at + PART_CHARACTERS - 1);
    const isHalf = last >= 0xd800 && last < 0xdc00;
    const end = at + PART_CHARACTERS - (isHalf ? 1 : 0);
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

async function isComplete(
  tx: SqlClient,
  chunk: string,
  { fragments }: ChunkedChange,
): Promise<boolean> {
  const rows = await runSqlRows<{ fragment: unknown; parts: unknown; stored: unknown }>(
    tx,
    sql`select "fragment", max("parts") as parts, count(*) as stored from "trellis_change_parts"
      where "chunk" = ${chunk}::uuid and "fragment" >= 0 group by "fragment"`,
  );
  const whole = rows.filter(({ parts, stored }) => Number(parts) === Number(stored));
  if (rows.some(({ fragment }) => Number(fragment) >= fragments)) {
    throw misfit(`a fragment is beyond the ${fragments} that its record names`);
  }
  return whole.length === fragments;
}

async function readText(
  tx: SqlClient,
  chunk: string,
  { table, checksum }: ChunkedChange,
): Promise<string> {
  const rows = await runSqlRows<{ data: string }>(
    tx,
    sql`select "data" from "trellis_change_parts" where "chunk" = ${chunk}::uuid
      and "fragment" >= 0 order by "fragment", "part"`,
  );
  const text = rows.map(({ data }) => data).join("");
  if (crc32c(text) !== checksum) {
    throw misfit(`the fragments of a row of ${table} do not have the checksum of their record`);
  }
  return text;
}

/** Removes the pieces. The row that represents the chunk stays, so that repeated fragments are recognized. */
async function closeChunk(tx: SqlClient, chunk: string, state: string): Promise<void> {
  await runSql(
    tx,
    sql`delete from "trellis_change_parts" where "chunk" = ${chunk}::uuid and "fragment" >= 0`,
  );
  await runSql(
    tx,
    sql`update "trellis_change_parts" set "state" = ${state}::text, "data" = null
      where "id" = ${chunk}::uuid`,
  );
}

function serializeMain(main: ChunkedChange): string {
  return JSON.stringify({ ...main, commitNs: String(main.commitNs) });
}

/**
 * Parses the stored record that describes fragments.
 *
 * @param data The column `data` of the row that represents the chunk.
 */
export function parseMain(data: string): ChunkedChange {
  const main = JSON.parse(data);
  return { ...main, commitNs: BigInt(main.commitNs) };
}

/**
 * Builds the statement that finds records whose fragments are missing.
 *
 * @param consumer Name of the consumer.
 * @param afterSeconds Time since the record arrived.
 */
export function buildFindIncomplete(consumer: string, afterSeconds: number): PlainSql {
  return sql`select "data" from "trellis_change_parts" where "consumer" = ${consumer}::text
    and "fragment" = ${HEAD} and "state" = 'open' and "data" is not null
    and "received_at" < clock_timestamp() - ${afterSeconds}::float8 * interval '1 second' limit 20`;
}

/**
 * Builds the statement that removes old pieces.
 *
 * @param consumer Name of the consumer.
 * @param keepSeconds Time that pieces are kept whose record has arrived, or was handled.
 * @param strayDays Days that fragments without a record are kept: they belong to other tables.
 */
export function buildRemoveParts(
  consumer: string,
  keepSeconds: number,
  strayDays: number,
): PlainSql {
  const old = sql`clock_timestamp() - ${keepSeconds}::float8 * interval '1 second'`;
  const stray = sql`clock_timestamp() - ${strayDays}::float8 * interval '1 day'`;
  return sql`delete from "trellis_change_parts" where "id" in (
    select p."id" from "trellis_change_parts" p where p."consumer" = ${consumer}::text
      and (p."received_at" < ${old} or (p."received_at" < ${stray} and not exists (
        select 1 from "trellis_change_parts" h where h."id" = p."chunk" and h."data" is not null)
        and p."fragment" >= 0))
    limit 500)`;
}
