import { encodePercent } from "../../core/http/percent_encoding.ts";
import { builtinModule } from "../../env/builtin_module.ts";
import { environment, type EnvSource, readEnv } from "../../env/get_env.ts";
import { limitRequest, type RequestLimit } from "../../env/limit_request.ts";

/** AWS credentials in environment variables, as Lambda sets them. */
export interface EnvironmentCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What a token permits, and where. */
export interface IamTokenRequest {
  readonly service: "dsql" | "rds-db";
  /** Host name, with the port if the service signs it. */
  readonly host: string;
  readonly region: string;
  /** Parameters such as `Action`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The limit of a signer of the AWS SDK, which requests credentials from containers, instances or single sign-on. */
const CREDENTIALS_LIMIT: RequestLimit = {
  service: "The provider of AWS credentials",
  limitMs: 5000,
};

/** Validity of a token, which the server checks only while a connection opens. */
const EXPIRES_SECONDS = 900;

/**
 * Reads AWS credentials from environment variables.
 *
 * @param env The variables. With `AWS_PROFILE` they are not used, as in the AWS SDK.
 * @returns The credentials; `undefined` if they must come from elsewhere.
 */
export function readCredentials(
  env: EnvSource = environment(),
): EnvironmentCredentials | undefined {
  const accessKeyId = readEnv(env, "AWS_ACCESS_KEY_ID");
  const secretAccessKey = readEnv(env, "AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  if (readEnv(env, "AWS_PROFILE") !== undefined) return undefined;
  const sessionToken = readEnv(env, "AWS_SESSION_TOKEN");
  return { accessKeyId, secretAccessKey, ...sessionToken === undefined ? {} : { sessionToken } };
}

/**
 * Creates a function that signs tokens: with the credentials in environment variables, or with a signer
 * of the AWS SDK, which finds others.
 *
 * @param request What is signed.
 * @param loadSigner Loads the signer of the SDK.
 */
export async function createTokenSource(
  request: IamTokenRequest,
  loadSigner: () => Promise<() => Promise<string>>,
): Promise<() => Promise<string>> {
  const first = readCredentials();
  if (first !== undefined) {
    return () => Promise.resolve(signIamToken(request, readCredentials() ?? first));
  }
  const sign = await loadSigner();
  return () => limitRequest(CREDENTIALS_LIMIT, sign);
}

/**
 * Signs a token as the AWS SDK does: a presigned request without its scheme (Signature Version 4, query
 * string authentication). The signers of the SDK add 200 KB to a bundle, most of it for credentials
 * that are not in environment variables.
 *
 * @param request What is signed.
 * @param credentials The identity.
 * @param now The time of signing.
 * @returns The token.
 */
export function signIamToken(
  { service, host, region, parameters }: IamTokenRequest,
  { accessKeyId, secretAccessKey, sessionToken }: EnvironmentCredentials,
  now: Date = new Date(),
): string {
  const date = now.toISOString().replaceAll(/[:-]|\.\d+/g, "");
  const scope = [date.slice(0, 8), region, service, "aws4_request"];
  const all = Object.entries({
    ...parameters,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": [accessKeyId, ...scope].join("/"),
    "X-Amz-Date": date,
    "X-Amz-Expires": String(EXPIRES_SECONDS),
    ...sessionToken === undefined ? {} : { "X-Amz-Security-Token": sessionToken },
    "X-Amz-SignedHeaders": "host",
  });
  const { query, signature } = signQuery(host, all, { scope, date, secretAccessKey });
  return `${host}/?${query}&X-Amz-Signature=${signature}`;
}

/**
 * Signs the query of a GET request (Signature Version 4).
 *
 * @param host The signed host.
 * @param parameters All parameters but the signature.
 * @param signer Scope and time as the parameters have them, and the key.
 * @returns The query in the order of its names, and its signature.
 */
export function signQuery(
  host: string,
  parameters: readonly (readonly [name: string, value: string])[],
  signer: {
    readonly scope: readonly string[];
    readonly date: string;
    readonly secretAccessKey: string;
  },
): { query: string; signature: string } {
  const { scope, date, secretAccessKey } = signer;
  const crypto = builtinModule("node:crypto")!;
  const sha256 = (text: string) => crypto.createHash("sha256").update(text).digest("hex");
  const hmac = (key: string | Uint8Array, text: string): Uint8Array =>
    crypto.createHmac("sha256", key).update(text).digest();

  const query = parameters.map(([name, value]) => [encodePercent(name), encodePercent(value)])
    .sort(([a], [b]) => a < b ? -1 : 1).map((pair) => pair.join("=")).join("&");
  const canonical = ["GET", "/", query, `host:${host}`, "", "host", sha256("")].join("\n");
  const text = ["AWS4-HMAC-SHA256", date, scope.join("/"), sha256(canonical)].join("\n");
  const key = scope.reduce(hmac, `AWS4${secretAccessKey}` as string | Uint8Array);
  return { query, signature: crypto.createHmac("sha256", key).update(text).digest("hex") };
}
