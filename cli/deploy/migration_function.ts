import type { LambdaClient } from "@aws-sdk/client-lambda";
import { type Clock, monotonicNow, systemClock } from "../../core/async/clock.ts";
import type {
  MigrationRequest,
  MigrationResponse,
} from "../../database/migrations/function/migration_request.ts";
import { limitClient } from "../../env/limit_request.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { getStageRegion } from "../stages/stage_settings.ts";
import { type Deployment, StepError } from "./deployment.ts";

/** The outcome of an invocation. */
export type InvocationOutcome =
  | { readonly response: MigrationResponse }
  /** Lambda ended the invocation, or the connection was lost. The progress is unknown. */
  | { readonly interruption: string };

/** The deployed migration function. */
export interface MigrationFunction {
  /** `notes-prod-Migrations` */
  readonly name: string;
  /** Invokes the function once. Waits while another invocation is active. */
  invoke(request: MigrationRequest): Promise<InvocationOutcome>;
}

/** Longer than Lambda's longest timeout. */
const REQUEST_MS = 920_000;
const PAUSE_MS = 5_000;

/** Errors of Lambda that end an invocation from outside: timeout, lack of memory, lost process. */
const ENDED = ["Sandbox.Timedout", "Runtime.ExitError", "Runtime.OutOfMemory"];

/**
 * Opens the migration function of a stage.
 *
 * @param functionName The function's name in the project.
 * @param onNote Called with messages about waiting.
 * @param clock Waits.
 */
export async function openMigrationFunction(
  deployment: Deployment,
  functionName: string,
  onNote: (text: string) => void,
  clock: Clock = systemClock,
): Promise<MigrationFunction> {
  const { InvokeCommand, LambdaClient } = await import("@aws-sdk/client-lambda")
    .catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-lambda", "A migration function"));
  const name = `${deployment.prefix}-${functionName}`;
  // the SDK would repeat a request whose connection was lost while the first invocation is active
  const settings = { ...getStageRegion(deployment.stage), maxAttempts: 1 };
  const limit = { service: name, limitMs: REQUEST_MS };
  const client: LambdaClient = limitClient(new LambdaClient(settings), limit);

  async function send(request: MigrationRequest): Promise<InvocationOutcome> {
    const Payload = new TextEncoder().encode(JSON.stringify(request));
    const answer = await client.send(new InvokeCommand({ FunctionName: name, Payload }));
    const body = JSON.parse(new TextDecoder().decode(answer.Payload)) as unknown;
    return answer.FunctionError === undefined
      ? { response: body as MigrationResponse }
      : readFunctionError(name, body as FunctionError);
  }

  return {
    name,
    async invoke(request): Promise<InvocationOutcome> {
      const dueMs = monotonicNow(clock) + REQUEST_MS;
      for (let waited = false;; waited = true) {
        try {
          return await send(request);
        } catch (error) {
          if (error instanceof StepError) throw error;
          const { name: code, message, $response, $metadata } = error as ClientError;
          if (code === "TooManyRequestsException" && monotonicNow(clock) < dueMs) {
            if (!waited) onNote(`another invocation of ${name} is active: waiting for its end`);
            await clock.sleep(PAUSE_MS);
            continue;
          }
          const hasAnswer = $response !== undefined || $metadata?.httpStatusCode !== undefined;
          if (hasAnswer || code === "CredentialsProviderError") {
            throw new StepError(`${name} cannot be invoked: ${code}: ${message}`);
          }
          return { interruption: `the connection to Lambda was lost (${message})` };
        }
      }
    },
  };
}

interface ClientError extends Error {
  readonly $response?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** What Lambda answers in place of a result. */
export interface FunctionError {
  readonly errorType?: string;
  readonly errorMessage?: string;
}

/** Failures of requests are responses, so an error comes from the sandbox or the start. */
function readFunctionError(
  name: string,
  { errorType = "Error", errorMessage = "" }: FunctionError,
): InvocationOutcome {
  const isTimeout = errorMessage.includes("Task timed out after");
  if (isTimeout || ENDED.includes(errorType)) return { interruption: errorMessage };
  throw new StepError(`${name} did not start: ${errorType}: ${errorMessage}`);
}
