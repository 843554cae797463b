import { checkRules, FLAG, type Rules } from "../config/setting_rules.ts";
import { isObject } from "../config/setting_rules.ts";

const STRING = ["a string", (value: unknown) => typeof value === "string"] as const;

/** The rules of the option `openapi`. */
const RULES: Rules = {
  summary: STRING,
  description: STRING,
  tags: [
    "a list of strings",
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  ],
  operationId: STRING,
  deprecated: FLAG,
  successStatus: ["a status from 200 to 399", (value) => isStatus(value) && Number(value) < 400],
  responses: [
    'strings by status: { 409: "The title is taken" }',
    (value) =>
      isObject(value) &&
      Object.entries(value).every(([status, text]) =>
        isStatus(Number(status)) && typeof text === "string"
      ),
  ],
  hidden: FLAG,
  webhook: ["a name", (value) => typeof value === "string" && value !== ""],
};

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;
}

/**
 * Checks the option `openapi` of a handler.
 *
 * @param metadata The value.
 * @returns The error messages.
 */
export function checkMetadata(metadata: unknown): string[] {
  return isObject(metadata)
    ? checkRules("openapi", metadata, RULES)
    : ["openapi must be an object"];
}
