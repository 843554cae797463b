import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

// deno-lint-ignore no-explicit-any
type Json = any;

/** A response to compare with a document. */
export interface ReceivedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Creates a check of responses against an OpenAPI document, with a JSON Schema validator that is not
 * ours.
 *
 * @param document The document.
 * @returns Returns why a response of an operation is not described; `undefined` if it is.
 */
export function createResponseCheck(document: Json) {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  // the package is CommonJS
  (addFormats as unknown as (target: unknown) => void)(ajv);
  ajv.addSchema(document, "api");
  const point = (...parts: string[]) =>
    parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

  return function explain(
    path: string,
    method: string,
    { status, headers, body }: ReceivedResponse,
  ): string | undefined {
    const found = document.paths[path][method].responses[status];
    if (found === undefined) return `status ${status} is not described: ${body}`;
    const pointer = found.$ref?.slice(1) ?? point("paths", path, method, "responses", `${status}`);
    const response = found.$ref === undefined
      ? found
      : document.components.responses[found.$ref.split("/").at(-1)];
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      // what the package documents itself is always sent
      const isOptional = (header as { required?: boolean }).required === false;
      if (!isOptional && !headers.has(name)) return `the header ${name} of ${status} is missing`;
    }
    const [type = ""] = (headers.get("Content-Type") ?? "").split(";");
    if (response.content === undefined) {
      return body === "" || status === 200 ? undefined : `a body of ${status} is not described`;
    }
    const range = [type, "*/*"].find((each) => each in response.content);
    if (range === undefined) return `the type ${type} of ${status} is not described`;
    const validate = ajv.getSchema(`api#${pointer}${point("content", range, "schema")}`)!;
    if (validate(type === "application/json" ? JSON.parse(body) : body)) return undefined;
    return `the body of ${status} does not fit: ${ajv.errorsText(validate.errors)}: ${body}`;
  };
}
