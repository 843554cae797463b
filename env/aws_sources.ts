import { ConfigurationError, ServiceUnavailableError } from "../errors/http_errors.ts";
import { limitClient, REPEATABLE, type RequestLimit } from "./limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "./optional_package.ts";
import type { SourceReference } from "./source_reference.ts";

/** A value to read, with the variable that receives it. */
export interface WantedValue {
  readonly variable: string;
  readonly reference: SourceReference;
}

/** The result of reading one value. */
export type ReadValue =
  | { readonly variable: string; readonly value: string }
  | { readonly variable: string; readonly error: ConfigurationError };

/** Parameters of one request (GetParameters, AWS Systems Manager API reference, 2026-11). */
const MAX_PARAMETERS = 10;

const SECRETS: RequestLimit = { service: "AWS Secrets Manager", limitMs: 5000 };
const PARAMETERS: RequestLimit = { service: "The SSM Parameter Store", limitMs: 5000 };

/**
 * Reads values with the official clients of AWS. A client is loaded only if a value needs it.
 *
 * @param wanted The values.
 * @returns One result for each value. Errors name the variable and the source, never a value.
 * @throws {ConfigurationError} If a client is not installed.
 */
export async function readAwsSources(wanted: readonly WantedValue[]): Promise<ReadValue[]> {
  const secrets = wanted.filter(({ reference }) => reference.service === "secretsmanager");
  const parameters = wanted.filter(({ reference }) => reference.service === "ssm");
  const results = await Promise.all([
    secrets.length === 0 ? [] : readSecrets(secrets),
    parameters.length === 0 ? [] : readParameters(parameters),
  ]);
  return results.flat();
}

async function readSecrets(wanted: readonly WantedValue[]): Promise<ReadValue[]> {
  const { GetSecretValueCommand, SecretsManagerClient } = await import(
    "@aws-sdk/client-secrets-manager"
  ).catch(
    explainMissing(
      RUNTIME_PACKAGES,
      "@aws-sdk/client-secrets-manager",
      "A secret of Secrets Manager",
    ),
  );
  const client = limitClient(new SecretsManagerClient(REPEATABLE), SECRETS);
  const read = new Map<string, Promise<string | undefined>>();
  // not BatchGetSecretValue, which needs a permission on all secrets of the account
  const getText = (id: string) => {
    const request = read.get(id) ??
      client.send(new GetSecretValueCommand({ SecretId: id })).then(({ SecretString }) =>
        SecretString
      );
    read.set(id, request);
    return request;
  };
  try {
    return await Promise.all(wanted.map(async ({ variable, reference }) => {
      try {
        return toResult(variable, reference, readField(await getText(reference.id), reference));
      } catch (error) {
        return fail(variable, reference, error);
      }
    }));
  } finally {
    client.destroy();
  }
}

async function readParameters(wanted: readonly WantedValue[]): Promise<ReadValue[]> {
  const { GetParametersCommand, SSMClient } = await import("@aws-sdk/client-ssm").catch(
    explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-ssm", "A parameter of SSM"),
  );
  const client = limitClient(new SSMClient(REPEATABLE), PARAMETERS);
  const names = [...new Set(wanted.map(({ reference }) => reference.id))];
  const values = new Map<string, string>();
  const errors = new Map<string, unknown>();
  async function readSome(some: string[]): Promise<void> {
    try {
      const { Parameters = [] } = await client.send(
        new GetParametersCommand({ Names: some, WithDecryption: true }),
      );
      for (const { ARN, Name, Value } of Parameters) {
        for (const name of [ARN, Name]) {
          if (name !== undefined && Value !== undefined) values.set(name, Value);
        }
      }
    } catch (error) {
      for (const name of some) errors.set(name, error);
    }
  }
  const requests: Promise<void>[] = [];
  for (let at = 0; at < names.length; at += MAX_PARAMETERS) {
    requests.push(readSome(names.slice(at, at + MAX_PARAMETERS)));
  }
  await Promise.all(requests);
  client.destroy();
  return wanted.map(({ variable, reference }) =>
    errors.has(reference.id)
      ? fail(variable, reference, errors.get(reference.id))
      : toResult(variable, reference, values.get(reference.id))
  );
}

/** Returns the text of a secret, or a field of the JSON object that it contains. */
function readField(text: string | undefined, { field }: SourceReference): string | undefined {
  if (text === undefined || field === undefined) return text;
  let value: unknown;
  try {
    value = (JSON.parse(text) as Record<string, unknown> | null)?.[field];
  } catch {
    return undefined; // the parser's message would contain a part of the secret
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : undefined;
}

function toResult(
  variable: string,
  reference: SourceReference,
  value: string | undefined,
): ReadValue {
  if (value !== undefined && value !== "") return { variable, value };
  const what = reference.field === undefined ? "no text" : `no field "${reference.field}"`;
  return fail(variable, reference, { name: what });
}

function fail(variable: string, { service, id }: SourceReference, error: unknown): ReadValue {
  // the messages of AWS can contain what was sent
  const { name = "unknown error" } = error as { name?: string };
  const reason = error instanceof ServiceUnavailableError ? error.message : name;
  return {
    variable,
    error: new ConfigurationError(
      `${variable} could not be read from ${service}:${id} (${reason}): set its value with ` +
        `trellis secrets set ${variable}, and allow the function's role to read it`,
      { cause: error instanceof Error ? error : undefined },
    ),
  };
}
