import { limitClient } from "../../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../../env/optional_package.ts";
import { getSourceName, type PlannedSource } from "../infra/sources.ts";

const LIMIT_MS = 30_000;
const SECRETS_LIMIT = { service: "AWS Secrets Manager", limitMs: LIMIT_MS };
const PARAMETERS_LIMIT = { service: "The SSM Parameter Store", limitMs: LIMIT_MS };

/** The values of a stage's secrets and parameters. */
export interface SecretValues {
  /** The name of a source in AWS: `notes-dev/AUTH_SECRET`. */
  getName(source: PlannedSource): string;
  /**
   * Checks whether a value has been put.
   *
   * @returns `missing` if the secret itself does not exist.
   */
  find(source: PlannedSource): Promise<"set" | "empty" | "missing">;
  /** Reads a value; `undefined` if there is none, or if the credentials may not read it. */
  read(source: PlannedSource): Promise<string | undefined>;
  /**
   * Puts a value.
   *
   * @returns False if the secret does not exist.
   */
  put(source: PlannedSource, value: string): Promise<boolean>;
  /** Deletes the parameters of the stage, which Terraform does not manage. Returns their names. */
  deleteParameters(): Promise<string[]>;
}

/**
 * Opens the secrets and parameters of a stage with the official clients of AWS.
 *
 * @param prefix Prefix of the stage's resources: `notes-dev`.
 * @param settings The region; the AWS settings of the shell decide without it.
 * @returns Functions, of which only `read` reads values.
 */
export function openSecretValues(
  prefix: string,
  settings: { readonly region?: string },
): SecretValues {
  const loadSecrets = async () => {
    const library = await import("@aws-sdk/client-secrets-manager").catch(
      explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-secrets-manager", "trellis secrets"),
    );
    return {
      ...library,
      client: limitClient(new library.SecretsManagerClient(settings), SECRETS_LIMIT),
    };
  };
  const loadParameters = async () => {
    const library = await import("@aws-sdk/client-ssm").catch(
      explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-ssm", "trellis secrets"),
    );
    return { ...library, client: limitClient(new library.SSMClient(settings), PARAMETERS_LIMIT) };
  };
  const getName = (source: PlannedSource) =>
    source.existing ?? `${source.service === "ssm" ? "/" : ""}${prefix}/${getSourceName(source)}`;

  async function find(source: PlannedSource): Promise<"set" | "empty" | "missing"> {
    if (source.service === "ssm") {
      const { client, GetParametersCommand } = await loadParameters();
      const { Parameters = [] } = await client.send(
        new GetParametersCommand({ Names: [getName(source)] }),
      );
      return Parameters.length > 0 ? "set" : "empty";
    }
    const { client, DescribeSecretCommand } = await loadSecrets();
    const found = await client.send(new DescribeSecretCommand({ SecretId: getName(source) }))
      .catch(undefinedIfMissing);
    if (found === undefined || found.DeletedDate !== undefined) return "missing";
    const stages = Object.values(found.VersionIdsToStages ?? {}).flat();
    return stages.includes("AWSCURRENT") ? "set" : "empty";
  }

  async function read(source: PlannedSource): Promise<string | undefined> {
    if (source.service === "ssm") {
      const { client, GetParametersCommand } = await loadParameters();
      const command = new GetParametersCommand({
        Names: [getName(source)],
        WithDecryption: true,
      });
      const found = await client.send(command).catch(undefinedIfDenied);
      return found?.Parameters?.[0]?.Value;
    }
    const { client, GetSecretValueCommand } = await loadSecrets();
    const command = new GetSecretValueCommand({ SecretId: getName(source) });
    const found = await client.send(command).catch(undefinedIfDenied);
    return found?.SecretString;
  }

  async function put(source: PlannedSource, value: string): Promise<boolean> {
    if (source.service === "secretsmanager") {
      const { client, PutSecretValueCommand } = await loadSecrets();
      const command = new PutSecretValueCommand({ SecretId: getName(source), SecretString: value });
      return await client.send(command).catch(undefinedIfMissing) !== undefined;
    }
    const { client, PutParameterCommand } = await loadParameters();
    await client.send(
      new PutParameterCommand({
        Name: getName(source),
        Value: value,
        Type: source.isSecret ? "SecureString" : "String",
        KeyId: source.kmsKeyArn,
        Overwrite: true,
      }),
    );
    return true;
  }

  async function deleteParameters(): Promise<string[]> {
    const { client, DeleteParametersCommand, paginateGetParametersByPath } = await loadParameters();
    const names: string[] = [];
    for await (
      const { Parameters = [] } of paginateGetParametersByPath(
        { client },
        { Path: `/${prefix}`, Recursive: true },
      )
    ) {
      names.push(...Parameters.flatMap(({ Name }) => Name ?? []));
    }
    for (let at = 0; at < names.length; at += MAX_PARAMETERS) {
      const some = names.slice(at, at + MAX_PARAMETERS);
      await client.send(new DeleteParametersCommand({ Names: some }));
    }
    return names;
  }

  return { getName, find, read, put, deleteParameters };
}

/** Parameters of one request (DeleteParameters, AWS Systems Manager API reference, 2026-11). */
const MAX_PARAMETERS = 10;

function undefinedIfMissing(error: unknown): undefined {
  if ((error as Error).name !== "ResourceNotFoundException") throw error;
}

function undefinedIfDenied(error: unknown): undefined {
  const { name } = error as Error;
  if (!["AccessDeniedException", "ResourceNotFoundException"].includes(name)) throw error;
}

/** Returns 32 random bytes in hexadecimal. */
export function generateSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
