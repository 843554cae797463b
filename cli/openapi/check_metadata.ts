/** Checks of the option `openapi` by key. */
const KEYS: Readonly<Record<string, readonly [what: string, check: (value: unknown) => boolean]>> =
  {
    summary: ["a string", isText],
    description: ["a string", isText],
    tags: ["a list of strings", (value) => Array.isArray(value) && value.every(isText)],
    operationId: ["a string", isText],
    deprecated: ["true or false", (value) => typeof value === "boolean"],
    successStatus: ["a status from 200 to 399", (value) => isStatus(value) && Number(value) < 400],
    responses: [
      'strings by status: { 409: "The title is taken" }',
      (value) =>
        typeof value === "object" && value !== null && !Array.isArray(value) &&
        Object.entries(value).every(([status, text]) => isStatus(Number(status)) && isText(text)),
    ],
    hidden: ["true or false", (value) => typeof value === "boolean"],
  };

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;
}

/**
 * Checks the option `openapi` of a handler.
 *
 * @param metadata The value.
 * @returns The error message; `undefined` if it is valid.
 */
export function checkMetadata(metadata: unknown): string | undefined {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    return "openapi must be an object";
  }
  for (const [key, value] of Object.entries(metadata)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(KEYS, key)) {
      return `unknown option openapi.${key}; known options: ${Object.keys(KEYS).join(", ")}`;
    }
    const [what, check] = KEYS[key];
    if (!check(value)) return `openapi.${key} must be ${what}, got ${JSON.stringify(value)}`;
  }
  return undefined;
}
