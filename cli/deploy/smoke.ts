import { ConfigurationError } from "../../errors/http_errors.ts";
import type { InfraFunction } from "../infra/infra_plan.ts";
import { type Deployment, StepError } from "./deployment.ts";

/** Attempts, because a new domain or a new version can take some seconds. */
const MAX_ATTEMPTS = 5;
const PAUSE_MS = 2000;
const TIMEOUT_MS = 15_000;

/**
 * Requests the deployed API, if it has a path for this.
 *
 * @returns One line about the answer; `undefined` without a path or an API.
 * @throws {StepError} If the API does not answer, or with an error.
 */
export async function runSmokeRequest(
  { context, plan, stage, terraform }: Deployment,
): Promise<string | undefined> {
  const path = chooseSmokePath(plan.config.infra.smoke, plan.sources.functions);
  if (path === undefined) return undefined;
  const url = context.options.url ?? (await terraform.readOutputs()).api_url;
  if (typeof url !== "string") return undefined;
  return await sendSmokeRequest(`${url.replace(/\/$/, "")}${path}`, {
    stage: stage.name,
    canRollBack: plan.config.infra.release !== undefined,
    isRolledBack: context.options.rollback === true,
  });
}

/**
 * Chooses the path of the smoke request: the configured one, else `/health` if the API has it.
 *
 * @param setting The setting `infra.smoke`.
 * @returns The path; `undefined` for no request.
 */
export function chooseSmokePath(
  setting: string | false | undefined,
  functions: readonly InfraFunction[],
): string | undefined {
  if (setting === false) return undefined;
  if (setting !== undefined) {
    if (setting.startsWith("/")) return setting;
    throw new ConfigurationError(`infra.smoke is "${setting}": it must begin with a slash`);
  }
  const found = functions.find(({ kind, method, path }) =>
    kind === "api" && method === "GET" && (path === "/health" || path === "/healthz")
  );
  return found?.path;
}

/** Options of {@link sendSmokeRequest}. */
interface SmokeOptions {
  /** Name of the stage. */
  readonly stage: string;
  /** True if the project has gradual releases, which `--rollback` needs. */
  readonly canRollBack: boolean;
  /** True after `--rollback`. */
  readonly isRolledBack?: boolean;
  /** Pause between two attempts. */
  readonly pauseMs?: number;
}

/**
 * Sends a request to the deployed API until it answers with a status below 400.
 *
 * @param url The whole URL.
 * @returns One line about the answer.
 * @throws {StepError} If it does not answer, or with an error.
 */
export async function sendSmokeRequest(
  url: string,
  options: SmokeOptions,
): Promise<string> {
  const { pauseMs = PAUSE_MS } = options;
  let problem = "";
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      const text = await response.text();
      if (response.status < 400) return `GET ${url}: ${response.status}`;
      const id = response.headers.get("x-correlation-id");
      const facts = [...listDown(text), ...id === null ? [] : [`correlation id ${id}`]];
      problem = `${response.status}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  throw new StepError(`GET ${url} failed ${MAX_ATTEMPTS} times: ${problem}. ${getAdvice(options)}`);
}

function getAdvice({ stage, canRollBack, isRolledBack }: SmokeOptions): string {
  const look = "look at the logs of the function";
  if (isRolledBack) {
    return `The previous version gets the requests, so the new one is not the only cause: ${look}`;
  }
  return `The new version is deployed: ${look}, or go back ${
    canRollBack
      ? `with trellis deploy --stage ${stage} --rollback`
      : "by deploying the commit before"
  }`;
}

/** Lists the parts that a health route reports as down: `{ "database": "down" }`. No other text is shown. */
function listDown(text: string): string[] {
  try {
    return Object.entries(JSON.parse(text) ?? {}).flatMap(([part, state]) =>
      state === "down" && part !== "status" && /^\w{1,40}$/.test(part) ? [`${part} is down`] : []
    );
  } catch {
    return [];
  }
}
