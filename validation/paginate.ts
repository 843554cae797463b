import * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { getQueryString } from "../core/http/api_event.ts";
import { decodeBase64, encodeBase64Url } from "../core/http/base64.ts";
import { signHmac } from "../core/http/hmac.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { timingSafeEqual } from "../core/http/timing_safe_equal.ts";
import { ConfigurationError, UnexpectedError } from "../errors/http_errors.ts";
import { Reply } from "./reply.ts";
import { validateSchema } from "./schema.ts";

/** Options of {@link paginate}. */
export interface PaginateOptions<TPosition, TFilters, TItem, TItemInput> {
  /** Schema of an item. */
  item: $ZodType<TItem, TItemInput>;
  /** Schema of the sort key of a row, which must be unique: `z.tuple([z.iso.datetime(), z.uuid()])`. */
  position: $ZodType<TPosition>;
  /**
   * Object schema of further query parameters that select rows. A cursor belongs to the filters that it was created with.
   * @default no filters
   */
  filters?: $ZodType<TFilters>;
  /**
   * Items of a page unless the client asks for another number.
   * @default 20
   */
  limit?: number;
  /**
   * Most items of a page.
   * @default 100
   */
  maxLimit?: number;
  /**
   * Signs cursors, so that a client can only continue where a page ended. At least 32 characters.
   * @default undefined, a client can write cursors
   */
  secret?: string | (() => string);
}

/** The parsed query of a page. */
export interface PageQuery<TPosition, TFilters> {
  /** Rows to read: one more than the page has, which shows whether there is another page. */
  take: number;
  /** The sort key of the last row before the page; `undefined` for the first page. */
  after: TPosition | undefined;
  /** The filters. */
  filters: TFilters;
}

/** The body of a page. */
export interface Page<TItem> {
  /** The items. */
  items: TItem[];
  /** The cursor of the next page; `null` on the last one. */
  nextCursor: string | null;
}

/** Options of a reply with a page: the header `Link`, if there is another page. */
export type PageHeaders = { headers: Record<string, string> } | undefined;

/** The parts of a handler that sends pages. */
export interface Pagination<TPosition, TFilters, TItem, TItemInput> {
  /** The option `querySchema`. */
  readonly querySchema: $ZodType<PageQuery<TPosition, TFilters>>;
  /** The option `responses`. */
  readonly responses: {
    readonly 200: {
      readonly body: $ZodType<Page<TItem>, Page<TItemInput>>;
      readonly headers: $ZodType<{ link?: string }, { link?: string }>;
    };
  };
  /**
   * Creates the response with a page.
   *
   * @param event The request, for the header `Link`.
   * @param query The parsed query.
   * @param rows At most `query.take` rows.
   * @param getPosition Returns the sort key of a row.
   * @throws {UnexpectedError} If a sort key does not fit its schema, or there are more rows than `query.take`.
   */
  reply<TRow extends TItemInput>(
    event: ApiEvent,
    query: PageQuery<TPosition, TFilters>,
    rows: readonly TRow[],
    getPosition: (row: TRow) => TPosition,
  ): Promise<Reply<200, Page<TItemInput>, PageHeaders>>;
}

const NO_FILTERS = z.object({});
const PURPOSE = "trellis cursor:";
const NOT_A_CURSOR = "is not a cursor of this list and these filters";

/**
 * Creates the parts of a handler that sends a list in pages: the query with `limit` and `cursor`, the response with `items`
 * and `nextCursor`, and the header `Link` (RFC 8288). The cursor is the sort key of the last row, so that rows which are
 * inserted meanwhile do not shift the pages.
 *
 * @param options Schemas and limits.
 * @returns Schemas for the options of `defineApiHandler`, and the function that creates the response.
 * @throws {ConfigurationError} If the limits are invalid, or a filter is called `limit` or `cursor`.
 *
 * @example
 * ```ts
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler, paginate } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const rows = [{ id: 1 }, { id: 2 }, { id: 3 }];
 * const page = paginate({ item: z.object({ id: z.int() }), position: z.int(), limit: 2 });
 * const handler = defineApiHandler({
 *   querySchema: page.querySchema,
 *   responses: page.responses,
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function listRows({ event, query }) {
 *   const found = rows.filter(({ id }) => id > (query.after ?? 0)).slice(0, query.take);
 *   return page.reply(event, query, found, (row) => row.id);
 * });
 *
 * const { body, headers } = await handler(createRestApiEvent(), createLambdaContext());
 * console.log(JSON.parse(body).items, headers?.link); // [ { id: 1 }, { id: 2 } ] <?cursor=WzIse31d>; rel="next"
 * ```
 */
export function paginate<TPosition, TItem, TItemInput, TFilters = Record<string, never>>(
  options: PaginateOptions<TPosition, TFilters, TItem, TItemInput>,
): Pagination<TPosition, TFilters, TItem, TItemInput> {
  const { item, position, limit = 20, maxLimit = 100, secret } = options;
  const filters = (options.filters ?? NO_FILTERS) as $ZodType<object>;
  checkLimits(limit, maxLimit);
  checkFilters(filters);

  async function sign(payload: string): Promise<string> {
    const text = typeof secret === "function" ? secret() : secret ?? "";
    if (text.length < 32) {
      throw new ConfigurationError("The secret of paginate must have at least 32 characters");
    }
    return (await signHmac(text, PURPOSE + payload)).slice(0, 32);
  }

  async function encode(at: TPosition, given: unknown): Promise<string> {
    const payload = encodeBase64Url(new TextEncoder().encode(toText([at, given])));
    if (!validateSchema(position, JSON.parse(toText(at))).success) {
      throw new UnexpectedError(
        "The sort key of a row does not fit the schema position, so its cursor could not be read: convert it, such as " +
          "a timestamp with toIsoDateTime",
      );
    }
    return secret === undefined ? payload : `${payload}.${await sign(payload)}`;
  }

  /** Reads the position and the filters of a cursor without its signature. */
  function decode(payload: string, given: unknown): TPosition | undefined {
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(decodeBase64(payload));
      const [at, known] = JSON.parse(text);
      const parsed = validateSchema(position, at);
      return parsed.success && toText(known) === toText(given) ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }

  function readCursor(
    cursor: string,
    given: unknown,
  ): TPosition | undefined | Promise<TPosition | undefined> {
    if (secret === undefined) return decode(cursor, given);
    const [payload, signature = ""] = cursor.split(".");
    return sign(payload).then((expected) =>
      timingSafeEqual(signature, expected) ? decode(payload, given) : undefined
    );
  }

  const fields = z.object({
    limit: z._default(
      z.coerce.number().check(
        z.int(),
        z.minimum(1),
        z.maximum(maxLimit),
      ) as unknown as z.ZodMiniNumber,
      limit,
    ),
    // without a pattern 2,000 characters could be 24 KB in the address, which gateways refuse before the function
    cursor: z.optional(z.string().check(z.maxLength(2000), z.regex(/^[\w.-]*$/, NOT_A_CURSOR))),
  });
  const querySchema = z.pipe(
    z.intersection(fields, filters),
    z.transform(({ limit, cursor, ...given }, context) => {
      const take = limit + 1;
      if (cursor === undefined) return { take, after: undefined, filters: given };
      const found = readCursor(cursor, given);
      const toQuery = (after: TPosition | undefined) => {
        if (after === undefined) {
          context.issues.push({
            code: "custom",
            message: NOT_A_CURSOR,
            path: ["cursor"],
            input: cursor,
          });
        }
        return { take, after, filters: given };
      };
      return found instanceof Promise ? found.then(toQuery) : toQuery(found);
    }),
  );
  return {
    querySchema: querySchema as unknown as $ZodType<PageQuery<TPosition, TFilters>>,
    responses: {
      200: {
        body: z.object({
          items: z.array(item),
          nextCursor: z.nullable(z.string()),
        }) as unknown as $ZodType<Page<TItem>, Page<TItemInput>>,
        headers: z.object({ link: z.optional(z.string()) }),
      },
    },
    async reply(event, query, rows, getPosition) {
      if (rows.length > query.take) {
        throw new UnexpectedError(
          `The page got ${rows.length} rows: read at most query.take, which is ${query.take}`,
        );
      }
      const items = rows.slice(0, query.take - 1);
      const last = items.at(-1);
      if (rows.length < query.take || last === undefined) {
        return new Reply(200, { items, nextCursor: null }, undefined);
      }
      const nextCursor = await encode(getPosition(last), query.filters);
      const parameters = new URLSearchParams(getQueryString(event));
      parameters.set("cursor", nextCursor);
      const headers = { link: `<?${parameters}>; rel="next"` };
      return new Reply(200, { items, nextCursor }, { headers });
    },
  };
}

function checkLimits(limit: number, maxLimit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || !Number.isInteger(maxLimit) || limit > maxLimit) {
    throw new ConfigurationError(
      `limit and maxLimit must be whole numbers with 1 <= limit <= maxLimit, got ${limit} and ${maxLimit}`,
    );
  }
}

function checkFilters(filters: $ZodType): void {
  const { shape = {} } = filters._zod.def as { shape?: object };
  const taken = Object.keys(shape).find((name) => name === "limit" || name === "cursor");
  if (taken !== undefined) {
    throw new ConfigurationError(`filters has the field ${taken}, which paginate adds itself`);
  }
}

/** Returns a value as JSON, with bigints as texts. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, each) => typeof each === "bigint" ? String(each) : each);
}
