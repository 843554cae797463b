import { ConfigurationError } from "../errors/http_errors.ts";

/** The end of a variable's name that holds the source of another: `AUTH_SECRET_SOURCE`. */
export const SOURCE_SUFFIX = "_SOURCE";

/** A value in AWS Secrets Manager or in the SSM Parameter Store. */
export interface SourceReference {
  readonly service: "secretsmanager" | "ssm";
  /** Name or ARN of the secret; name or ARN of the parameter. */
  readonly id: string;
  /** The field of a secret that contains a JSON object. */
  readonly field?: string;
}

/**
 * Parses the value of a `…_SOURCE` variable: `secretsmanager:<name or ARN>`,
 * `secretsmanager:<name or ARN>#<field>` or `ssm:<name or ARN>`.
 *
 * @param variable The variable's name, for messages.
 * @param text Its value.
 * @returns The reference; `undefined` for the value of a variable that is not a source.
 * @throws {ConfigurationError} If the name of the secret or parameter is missing.
 */
export function parseSource(variable: string, text: string): SourceReference | undefined {
  const colon = text.indexOf(":");
  const service = text.slice(0, colon);
  if (service !== "secretsmanager" && service !== "ssm") return undefined;
  const [id, field] = text.slice(colon + 1).split("#");
  if (id === "" || field === "" || (field !== undefined && service === "ssm")) {
    throw new ConfigurationError(
      `${variable} is "${text}": write secretsmanager:<name or ARN>, ` +
        "secretsmanager:<name or ARN>#<field of a JSON secret>, or ssm:<name or ARN>",
    );
  }
  return { service, id, field };
}
