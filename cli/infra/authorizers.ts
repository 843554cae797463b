import type { InfraSettings } from "../config/infra.ts";
import { asksAuthorizer, type AuthorizerPlan } from "./gateway.ts";
import { checkIdentitySources } from "./identity_sources.ts";
import type { Fault, InfraFunction } from "./infra_plan.ts";

/** Who decides who may call, and what is wrong with it. */
export interface Authorizers {
  readonly api?: AuthorizerPlan;
  readonly websocket?: InfraFunction;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/**
 * Chooses the authorizers: the one that the configuration names, else the only one.
 *
 * @param functions All functions.
 * @param settings The configuration.
 */
export function chooseAuthorizers(
  functions: readonly InfraFunction[],
  settings: Pick<InfraSettings, "api" | "websocket">,
): Authorizers {
  const authorizers = functions.filter(({ kind }) => kind === "authorizer");
  const asking = functions.filter((fn) => fn.kind === "api" && asksAuthorizer(fn));
  const sockets = functions.filter(({ kind }) => kind === "websocket");
  const faults: Fault[] = [];
  const warnings: Fault[] = [];

  function choose(named: string | undefined, setting: string): InfraFunction | undefined {
    if (named !== undefined) {
      const found = authorizers.find(({ name }) => name === named);
      if (found === undefined) {
        const known = authorizers.length === 0
          ? "there is none"
          : `there are ${authorizers.map(({ name }) => name).join(", ")}`;
        faults.push({
          message: `${setting} names ${named}, which is no function of authorizer/: ${known}`,
        });
      }
      return found;
    }
    if (authorizers.length > 1) {
      faults.push({
        message: `${setting} must say which of ${
          authorizers.map(({ name }) => name).join(", ")
        } is asked`,
      });
    }
    return authorizers[0];
  }

  const api = asking.length === 0
    ? undefined
    : choose(settings.api?.authorizer, "infra.api.authorizer");
  if (api === undefined && authorizers.length === 0 && settings.api?.authorizer === undefined) {
    for (const { name, options } of asking) {
      if (options.auth === "authorizer") {
        faults.push({
          functionName: name,
          message:
            "auth is 'authorizer', but there is no function in authorizer/: nobody could ever pass. Add one",
        });
      } else {
        warnings.push({
          functionName: name,
          message:
            "auth is 'authorizer-optional', but there is no function in authorizer/: everybody is anonymous",
        });
      }
    }
  }

  let websocket: InfraFunction | undefined;
  const wanted = settings.websocket?.authorizer;
  if (sockets.length > 0 && wanted !== false && (wanted !== undefined || authorizers.length > 0)) {
    websocket = choose(wanted, "infra.websocket.authorizer");
    if (websocket !== undefined && !sockets.some(({ routeKey }) => routeKey === "$connect")) {
      faults.push({
        message:
          `the authorizer ${websocket.name} is asked at $connect only, and no function serves it: ` +
          "add websocket/$connect.ts, or set infra.websocket.authorizer = false to let everybody connect",
      });
    }
  } else if (sockets.length > 0 && wanted === undefined) {
    warnings.push({
      message: "everybody may connect to the WebSocket API: there is no function in authorizer/",
    });
  }
  const admitsAnonymous = asking.some(({ options }) => options.auth === "authorizer-optional");
  const plan = api && { fn: api, admitsAnonymous };
  if (plan !== undefined) {
    const found = checkIdentitySources(plan, settings.api ?? {});
    faults.push(...found.faults);
    warnings.push(...found.warnings);
  }
  return { api: plan, websocket, faults, warnings };
}
