import postgres from "postgres";
import { tokenize } from "../../sql/tokenize.ts";
import { type ArrayItem, parseArray } from "../../database/session/array_literal.ts";
import { BUILT_IN_TYPES } from "../../database/session/type_ids.ts";

/** A stand-in for the RDS Data API, over a real PostgreSQL. */
export interface RdsDataServer {
  /** For `AWS_ENDPOINT_URL_RDS_DATA`. */
  readonly url: string;
  /** The requests so far: operation and first words of the statement. */
  readonly requests: string[];
  /** Answers the next requests with an error of this name instead of running them, or after running them. */
  fail(
    error: {
      name: string;
      message?: string;
      times?: number;
      operation?: string;
      afterRunning?: boolean;
    },
  ): void;
  /** Ends the server. */
  stop(): Promise<void>;
}

type Field = Record<string, unknown>;
interface Parameter {
  name: string;
  value: Field;
  typeHint?: string;
}
interface Body {
  sql: string;
  parameters?: Parameter[];
  transactionId?: string;
  resultSetOptions?: { longReturnType?: string };
}

/** The Data API declares the type of each value, so that the server infers none. */
const HINTS: Record<string, string> = {
  UUID: "uuid",
  JSON: "jsonb",
  TIMESTAMP: "timestamp",
  DATE: "date",
  TIME: "time",
  DECIMAL: "numeric",
};

function bind({ value, typeHint }: Parameter): [value: unknown, type: string] {
  if (value.isNull) return [null, HINTS[typeHint ?? ""] ?? "text"];
  if ("stringValue" in value) return [value.stringValue, HINTS[typeHint ?? ""] ?? "text"];
  if ("longValue" in value) return [String(value.longValue), "bigint"];
  if ("doubleValue" in value) return [String(value.doubleValue), "float8"];
  if ("booleanValue" in value) return [String(value.booleanValue), "boolean"];
  const hex = [...atob(String(value.blobValue))].map((c) =>
    c.charCodeAt(0).toString(16).padStart(2, "0")
  ).join("");
  return [`\\x${hex}`, "bytea"];
}

function bindNames(sql: string, parameters: Parameter[]): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const tokens = tokenize(sql);
  let text = "";
  for (let at = 0; at < tokens.length; at++) {
    const next = tokens[at + 1];
    const isName = tokens[at].text === ":" && tokens[at - 1]?.text !== ":" &&
      (next?.kind === "number" || next?.kind === "word");
    const parameter = isName ? parameters.find(({ name }) => name === next.text) : undefined;
    if (parameter === undefined) {
      text += tokens[at].text;
      continue;
    }
    const [value, type] = bind(parameter);
    values.push(value);
    text += `($${values.length}::text)::${type}`;
    at++;
  }
  return { text, values };
}

const TYPES = new Map(
  BUILT_IN_TYPES.flatMap(([name, id, arrayId]) => [[id, name], [arrayId, `_${name}`]]),
);

function toField(text: string | null, typeName: string, options: Body["resultSetOptions"]): Field {
  if (text === null) return { isNull: true };
  if (typeName.startsWith("_")) {
    const items = parseArray(text, (item) => item, typeName === "_box" ? ";" : ",");
    return { arrayValue: toArrayValue(items as ArrayItem<string>[], typeName.slice(1), options) };
  }
  switch (typeName) {
    case "bool":
      return { booleanValue: text === "t" };
    case "int2":
    case "int4":
    case "int8":
    case "oid":
      return options?.longReturnType === "STRING"
        ? { stringValue: text }
        : { longValue: Number(text) };
    case "float4":
    case "float8":
      return { doubleValue: toDouble(text) };
    case "bytea":
      return {
        blobValue: btoa(
          String.fromCharCode(...text.slice(2).match(/../g)?.map((hex) => parseInt(hex, 16)) ?? []),
        ),
      };
    case "timestamptz":
      // UTC, and without saying so
      return { stringValue: text.replace(/\+00/, "") };
    default:
      return { stringValue: text };
  }
}

function unsupportedResult(what: string): Error {
  return Object.assign(new Error(`The result contains ${what}`), {
    name: "UnsupportedResultException",
  });
}

/** One list for each kind of item, in which a NULL is null. */
function toArrayValue(
  items: ArrayItem<string>[],
  typeName: string,
  options: Body["resultSetOptions"],
): Field {
  if (items.some(Array.isArray)) throw unsupportedResult("a multidimensional array");
  if (typeName === "bytea") throw unsupportedResult("the unsupported data type bytea[]");
  const fields = (items as (string | null)[]).map((item) => toField(item, typeName, options));
  const valueOf = (field: Field): unknown => field.isNull ? null : Object.values(field)[0];
  const values = fields.map(valueOf);
  if (typeName === "int8") {
    return { longValues: values.map((value) => value === null ? null : Number(value)) };
  }
  const kind = Object.keys(fields.find((field) => !field.isNull) ?? { stringValue: "" })[0];
  return { [`${kind}s`]: values };
}

/** JSON has no such numbers: they go as texts. */
function toDouble(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function failure(name: string, message: string): Response {
  return Response.json({ message }, { status: 400, headers: { "x-amzn-errortype": name } });
}

/** A transaction, and what ends it. */
interface Begun {
  readonly sql: postgres.Sql;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/**
 * Starts a stand-in for the RDS Data API on the loopback interface. It declares the types of parameters as the service
 * does (text for a string without a hint), which is where drivers that lean on PostgreSQL's inference fail.
 *
 * @param databaseUrl A real PostgreSQL.
 * @param transactionIdleMs After how long without a request a transaction is rolled back: 3 minutes, as the service does.
 * @returns The running server.
 */
export function startRdsDataServer(
  databaseUrl: string,
  transactionIdleMs = 180_000,
): RdsDataServer {
  function connect(max: number): postgres.Sql {
    const sql = postgres(databaseUrl, {
      max,
      fetch_types: false,
      onnotice: () => {},
      connection: { TimeZone: "UTC" },
    });
    for (const type of Object.keys(sql.options.parsers)) delete sql.options.parsers[Number(type)];
    return sql;
  }
  const pool = connect(20);
  const transactions = new Map<string, Begun>();
  const requests: string[] = [];
  let failing:
    | { name: string; message?: string; times: number; operation?: string; afterRunning?: boolean }
    | undefined;

  async function run(sql: postgres.Sql, body: Body): Promise<unknown> {
    const { text, values } = bindNames(body.sql, body.parameters ?? []);
    const result = await sql.unsafe(text, values as never[], { simple: false } as never).values();
    const columns = (result.columns ?? []).map(({ name, type }) => ({
      name,
      typeName: TYPES.get(type) ?? "other",
    }));
    return {
      records: result.columns === undefined || result.columns === null
        ? undefined
        : [...result].map((row) =>
          columns.map(({ typeName }, at) =>
            toField((row as string[])[at], typeName, body.resultSetOptions)
          )
        ),
      columnMetadata: columns.map(({ name, typeName }) => ({ name, label: name, typeName })),
      numberOfRecordsUpdated: result.count ?? 0,
    };
  }

  /** Removes a transaction; its remover must end it. */
  function take(transactionId: string): void {
    clearTimeout(transactions.get(transactionId)?.timer);
    transactions.delete(transactionId);
  }
  async function end(sql: postgres.Sql, how: "commit" | "rollback"): Promise<void> {
    try {
      await sql.unsafe(how);
    } finally {
      await sql.end();
    }
  }
  function watch(transactionId: string, begun: Begun): void {
    clearTimeout(begun.timer);
    begun.timer = setTimeout(() => {
      take(transactionId);
      end(begun.sql, "rollback").catch(() => {});
    }, transactionIdleMs);
  }

  async function handle(operation: string, body: Body): Promise<unknown> {
    if (operation === "BeginTransaction") {
      // a separate connection: postgres.js 3.4.9 reserves only those that are open and rest
      const sql = connect(1);
      await sql.unsafe("begin");
      const transactionId = crypto.randomUUID();
      const begun: Begun = { sql, timer: undefined };
      transactions.set(transactionId, begun);
      watch(transactionId, begun);
      return { transactionId };
    }
    const { transactionId } = body;
    if (transactionId === undefined) return await run(pool, body);
    const begun = transactions.get(transactionId);
    if (begun === undefined) {
      throw Object.assign(new Error(`Transaction ${transactionId} is not found`), {
        name: "TransactionNotFoundException",
      });
    }
    if (operation === "ExecuteStatement") {
      clearTimeout(begun.timer);
      return await run(begun.sql, body).finally(() =>
        transactions.has(transactionId) && watch(transactionId, begun)
      );
    }
    take(transactionId);
    const isCommit = operation === "CommitTransaction";
    await end(begun.sql, isCommit ? "commit" : "rollback");
    return { transactionStatus: isCommit ? "Transaction Committed" : "Rollback Complete" };
  }

  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const operation = new URL(request.url).pathname.replace(/^\/(?:Execute)?$/, "ExecuteStatement")
      .slice(
        new URL(request.url).pathname === "/Execute" ? 0 : 1,
      );
    const body: Body = await request.json();
    requests.push(`${operation} ${(body.sql ?? "").slice(0, 60)}`.trim());
    const fault = failing !== undefined && (failing.operation ?? operation) === operation
      ? failing
      : undefined;
    if (fault !== undefined && --fault.times <= 0) failing = undefined;
    if (fault !== undefined && !fault.afterRunning) return failure(fault.name, fault.message ?? "");
    try {
      const answer = await handle(operation, body);
      if (fault !== undefined) return failure(fault.name, fault.message ?? "");
      return Response.json(answer);
    } catch (error) {
      const { code, message, detail, name } = error as {
        code?: string;
        message: string;
        detail?: string;
        name: string;
      };
      if (code === undefined) return failure(name, message);
      return failure(
        "DatabaseErrorException",
        `ERROR: ${message}${
          detail === undefined ? "" : `\n  Detail: ${detail}`
        }; SQLState: ${code}`,
      );
    }
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    fail: (error) => void (failing = { times: 1, ...error }),
    async stop(): Promise<void> {
      await server.shutdown();
      for (const { timer, sql } of transactions.values()) {
        clearTimeout(timer);
        await sql.end({ timeout: 1 });
      }
      await pool.end({ timeout: 1 });
    },
  };
}
