/** Server that speaks the parts of Secrets Manager and SSM that read and write values. */
export interface SecretsServer {
  /** For `AWS_ENDPOINT_URL_SECRETS_MANAGER` and `AWS_ENDPOINT_URL_SSM`. */
  readonly url: string;
  /** Values of secrets, by name or ARN. A secret without a value is `undefined`. */
  readonly secrets: Map<string, string | undefined>;
  /** Values of parameters, by name. */
  readonly parameters: Map<string, string>;
  /** The operations that were called, with the names: `GetSecretValue notes-dev/AUTH_SECRET`. */
  readonly calls: string[];
  /** The regions that requests were signed for. */
  readonly regions: Set<string>;
  /** Answers the next calls with an error. */
  fail(type: string, status: number, times?: number): void;
  stop(): Promise<void>;
}

interface Body {
  SecretId?: string;
  SecretString?: string;
  Names?: string[];
  Name?: string;
  Value?: string;
  Type?: string;
  Path?: string;
}

/** Starts the server. */
export function startSecretsServer(): SecretsServer {
  const secrets = new Map<string, string | undefined>();
  const parameters = new Map<string, string>();
  const calls: string[] = [];
  const regions = new Set<string>();
  let failure = { type: "", status: 0, times: 0 };

  /** Returns the name for the ARN of a secret, which ends with six random characters. */
  function findSecret(id: string): string {
    const [, name] = /:secret:(.+)-\w{6}$/.exec(id) ?? [];
    return name === undefined || secrets.has(id) ? id : name;
  }

  function answer(operation: string, body: Body): unknown {
    const { Names: names = [], Name: name = "" } = body;
    const id = findSecret(body.SecretId ?? "");
    switch (operation) {
      case "secretsmanager.GetSecretValue":
        if (secrets.get(id) === undefined) return "ResourceNotFoundException";
        return { ARN: id, Name: id, SecretString: secrets.get(id) };
      case "secretsmanager.PutSecretValue":
        if (!secrets.has(id)) return "ResourceNotFoundException";
        secrets.set(id, body.SecretString);
        return { ARN: id, Name: id, VersionId: "v1" };
      case "secretsmanager.DescribeSecret":
        if (!secrets.has(id)) return "ResourceNotFoundException";
        return {
          ARN: id,
          Name: id,
          ...secrets.get(id) === undefined ? {} : { VersionIdsToStages: { v1: ["AWSCURRENT"] } },
        };
      case "AmazonSSM.GetParameters":
        return {
          Parameters: names.filter((each) => parameters.has(each)).map((each) => ({
            Name: each,
            Value: parameters.get(each),
          })),
          InvalidParameters: names.filter((each) => !parameters.has(each)),
        };
      case "AmazonSSM.PutParameter":
        parameters.set(name, body.Value!);
        return { Version: 1 };
      case "AmazonSSM.DeleteParameters":
        for (const each of names) parameters.delete(each);
        return { DeletedParameters: names };
      case "AmazonSSM.GetParametersByPath":
        return {
          Parameters: [...parameters.keys()].filter((each) => each.startsWith(`${body.Path}/`))
            .map((each) => ({ Name: each })),
        };
      default:
        return "UnknownOperationException";
    }
  }

  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const operation = request.headers.get("x-amz-target") ?? "";
    // a deployment looks for sessions of trellis dev --stage
    if (operation === "AmazonSQS.ListQueues") return Response.json({ QueueUrls: [] });
    const [, region] = /Credential=[^/]+\/\d+\/([^/]+)/
      .exec(request.headers.get("authorization") ?? "") ?? [];
    regions.add(region);
    const body: Body = await request.json();
    const subject = body.SecretId ?? body.Name ?? body.Path ?? (body.Names ?? []).join(",");
    calls.push(`${operation.split(".")[1]} ${subject}`);
    let result: unknown;
    if (failure.times > 0) {
      failure = { ...failure, times: failure.times - 1 };
      result = failure.type;
    } else result = answer(operation, body);
    // the clients correct their clock by this header, and tests move the clock
    const headers = { date: new Date(Date.now()).toUTCString() };
    if (typeof result !== "string") return Response.json(result, { headers });
    const status = failure.status === 0 ? 400 : failure.status;
    return Response.json({ __type: result, message: result }, { status, headers });
  });
  return {
    url: `http://127.0.0.1:${http.addr.port}`,
    secrets,
    parameters,
    calls,
    regions,
    fail: (type, status, times = 1) => void (failure = { type, status, times }),
    stop: () => http.shutdown(),
  };
}

/** Variables with which the official clients use the server. */
export function getSecretsEnvironment({ url }: SecretsServer): Record<string, string> {
  return {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_ENDPOINT_URL_SQS: url,
    AWS_ENDPOINT_URL_SSM: url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  };
}
