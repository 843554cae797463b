import { getHeader, readRawBody } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { wholeNumber } from "../core/function_options.ts";
import { checkOptions, protective } from "../core/option_rules.ts";
import type { BodyInput } from "./read_body.ts";
import { collectInput, hasMoreThan } from "./read_body.ts";

/** Parses bodies of a media type that handlers do not read otherwise. */
export interface BodyParser {
  /** The media type. */
  readonly mediaType: string;
  /**
   * Parses the body of a request.
   *
   * @param event The event.
   * @param listKeys Gives the fields whose schema asks for an array.
   * @returns The value or the error; `undefined` for another media type.
   */
  parse(event: ApiEvent, listKeys: () => ReadonlySet<string>): Promise<BodyInput> | undefined;
}

/** Options of {@link createMultipartParser}. */
export interface MultipartOptions {
  /**
   * Files that a body may have.
   * @default 10
   */
  maxFiles?: number;
  /**
   * Other fields that a body may have.
   * @default 100
   */
  maxFields?: number;
}

const TYPE = "multipart/form-data";
/** The text between parts (RFC 2046, section 5.1.1). */
const BOUNDARY = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i;
/** Decodes each byte to one character. */
const LATIN1 = new TextDecoder("latin1");

/**
 * Creates a parser of `multipart/form-data`, for the option `bodyParser` of `defineApiHandler`. Files
 * become `File` objects, which `z.file()` validates; other fields are texts. The parser is that of the
 * runtime. The body is in memory, and `maxBodyBytes` limits it: Lambda takes 6 MB, 4.5 MB of them for
 * files. Name and media type of a file are the client's claim.
 *
 * @param options Limits.
 * @returns The parser.
 * @throws {ConfigurationError} If an option is unknown or out of range.
 *
 * @example
 * ```ts
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { createMultipartParser, defineApiHandler, reply } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * export const handler = defineApiHandler({
 *   schema: z.object({ title: z.string(), photo: z.file().max(1_000_000).mime("image/png") }),
 *   bodyParser: createMultipartParser({ maxFiles: 1 }),
 *   responseSchema: z.object({ title: z.string(), size: z.number() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(({ body }) => reply(201, { title: body.title, size: body.photo.size }));
 *
 * const form = new FormData();
 * form.append("title", "me");
 * form.append("photo", new File(["\x89PNG"], "me.png", { type: "image/png" }));
 * const request = new Request("https://example.com/", { method: "POST", body: form });
 * const event = {
 *   ...createRestApiEvent({ method: "POST", headers: Object.fromEntries(request.headers) }),
 *   body: await request.text(),
 * };
 * console.log((await handler(event, createLambdaContext())).body); // {"title":"me","size":5}
 * ```
 */
export function createMultipartParser(options: MultipartOptions = {}): BodyParser {
  checkOptions("createMultipartParser", options, {
    maxFiles: protective(wholeNumber([0, 1000, "files"])),
    maxFields: protective(wholeNumber([0, 10_000, "fields"])),
  });
  const { maxFiles = 10, maxFields = 100 } = options;

  async function parseForm(
    event: ApiEvent,
    type: string,
    listKeys: () => ReadonlySet<string>,
  ): Promise<BodyInput> {
    const body = readRawBody(event) as Uint8Array<ArrayBuffer>;
    const [, quoted, plain] = BOUNDARY.exec(type) ?? [];
    const maxParts = maxFiles + maxFields;
    // the runtime's parser would make an object of each part first
    if (hasMoreThan(LATIN1.decode(body), `\n--${quoted ?? plain}`, maxParts)) {
      return { error: `The request body has more than ${maxParts} parts` };
    }
    let form: FormData;
    try {
      form = await new Response(body, { headers: { "Content-Type": type } }).formData();
    } catch {
      return { error: `The request body is not valid ${TYPE}` };
    }
    const entries = [...form];
    const files = entries.filter(([, value]) => typeof value !== "string").length;
    if (files > maxFiles) return { error: `The request body has more than ${maxFiles} files` };
    if (entries.length - files > maxFields) {
      return { error: `The request body has more than ${maxFields} fields` };
    }
    return { value: collectInput<string | File>(entries, listKeys()) };
  }

  return {
    mediaType: TYPE,
    parse(event, listKeys) {
      const type = getHeader(event, "Content-Type", "content-type");
      if (type?.split(";", 1)[0].trim().toLowerCase() !== TYPE) return undefined;
      return parseForm(event, type, listKeys);
    },
  };
}
