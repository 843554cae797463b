/** An alias of the server. */
export interface ServedAlias {
  FunctionVersion: string;
  Description?: string;
  RoutingConfig?: { AdditionalVersionWeights: Record<string, number> };
}

/** A version of a function. */
export interface ServedVersion {
  /** What Lambda answers if it does not load. */
  readonly error?: { readonly errorType: string; readonly errorMessage: string };
  readonly variables?: Readonly<Record<string, string>>;
}

/** Server that speaks the parts of Lambda and CloudWatch that a release needs. */
export interface ReleaseServer {
  readonly url: string;
  /** Aliases by function. */
  readonly aliases: Map<string, ServedAlias>;
  /** States of the alarm, one for each look; the last one stays. */
  readonly alarm: string[];
  /** The changes of aliases: function, version and share of the next version. */
  readonly moves: string[];
  /** What is special about versions, by function and version: `notes-dev-NotesGet:8`. */
  readonly versions: Map<string, ServedVersion>;
  stop(): Promise<void>;
}

/** Starts the server. */
export function startReleaseServer(): ReleaseServer {
  const aliases = new Map<string, ServedAlias>();
  const alarm = ["OK"];
  const moves: string[] = [];
  const versions = new Map<string, ServedVersion>();

  function move(name: string, given: ServedAlias): ServedAlias {
    const alias = { ...aliases.get(name), ...given };
    aliases.set(name, alias);
    const next = Object.entries(given.RoutingConfig?.AdditionalVersionWeights ?? {});
    moves.push(
      [name, given.FunctionVersion, ...next.map(([to, share]) => `${to}:${share}`)].join(" "),
    );
    return alias;
  }

  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const [, name, what] = /^\/2015-03-31\/functions\/([^/]+)\/(\w+)/.exec(pathname) ?? [];
    const version = versions.get(`${name}:${searchParams.get("Qualifier")}`);
    if (what === "configuration") {
      return Response.json({ Environment: { Variables: version?.variables ?? {} } });
    }
    if (what === "invocations") {
      await request.body?.cancel();
      return version?.error === undefined
        ? Response.json({ statusCode: 204 })
        : Response.json(version.error, { headers: { "x-amz-function-error": "Unhandled" } });
    }
    if (name === undefined) {
      const StateValue = alarm.length > 1 ? alarm.shift() : alarm[0];
      return Response.json({ MetricAlarms: [{ AlarmName: "notes-dev-release", StateValue }] });
    }
    if (!aliases.has(name)) return Response.json({ Type: "User" }, { status: 404 });
    return Response.json(
      request.method === "PUT" ? move(name, await request.json()) : aliases.get(name),
    );
  });
  return {
    url: `http://127.0.0.1:${http.addr.port}`,
    aliases,
    alarm,
    moves,
    versions,
    stop: () => http.shutdown(),
  };
}
