import type { LambdaClient } from "@aws-sdk/client-lambda";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { resolve } from "node:path";
import type { OpenStage } from "../deploy/deployment.ts";
import { findFunctionFiles } from "../discovery/function_files.ts";
import { limitClient } from "../../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../../env/optional_package.ts";
import { isDisposableStage } from "../stages/stage_name.ts";
import { getStageRegion } from "../stages/stage_settings.ts";
import { count } from "../terminal/generated_report.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import type { Output } from "../terminal/output.ts";
import { type LiveFacts, unwrapPackage, wrapPackage } from "./live_package.ts";

/** A deployed function whose calls can run on another machine. */
export interface LiveFunction {
  /** The name in AWS: `notes-dev-CreateNote`. */
  readonly name: string;
  readonly arn: string;
  /** ARN of its role. */
  readonly role: string;
}

/** A function that keeps its deployed code, and why. */
export interface KeptFunction {
  readonly name: string;
  /** `runs in a VPC` */
  readonly reason: string;
}

/** The code of a function in AWS, with its revision and hash, by which a later change is noticed. */
interface PresentCode {
  readonly bytes: Uint8Array;
  readonly revision: string | undefined;
  readonly hash: string | undefined;
}

type Lambda = typeof import("@aws-sdk/client-lambda") & { readonly client: LambdaClient };
/** The library for Amazon SQS, with a client. */
export type Sqs = typeof import("@aws-sdk/client-sqs") & { readonly client: SQSClient };

const LIMIT_MS = 60_000;
const PURPOSE = "trellis dev --stage";
/** Largest package that a request to Lambda can contain. It holds the deployed package twice. */
const MAX_BYTES = 50 * 1024 * 1024;
/** Seconds until Lambda has taken over a function's new code. */
const UPDATE_SECONDS = 120;

/** The suffix of a session's queues after the stage's prefix: queues of offers, and of answers. */
const SESSION_QUEUE = /^-trellis-live-[0-9a-f]{4}(?:-[0-9a-f]{8})?$/;

/** Returns the name of a session's queue of offers. With the id of an instance it has at most 80 characters. */
export function getQueueName(prefix: string, session: string): string {
  return `${prefix}-trellis-live-${session}`;
}

async function openLambda(region: { region?: string }): Promise<Lambda> {
  const library = await import("@aws-sdk/client-lambda")
    .catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-lambda", PURPOSE));
  const limit = { service: "AWS Lambda", limitMs: LIMIT_MS };
  return { ...library, client: limitClient(new library.LambdaClient(region), limit) };
}

/**
 * Opens the client of the queues.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function openSqs(region: { region?: string }): Promise<Sqs> {
  const library = await import("@aws-sdk/client-sqs")
    .catch(explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-sqs", PURPOSE));
  const limit = { service: "Amazon SQS", limitMs: LIMIT_MS };
  return { ...library, client: limitClient(new library.SQSClient(region), limit) };
}

/** The functions of a stage, whose code is replaced and restored. */
export interface LiveStage {
  /** Sorts functions into those whose calls can run on another machine, and the others. */
  sort(
    names: readonly string[],
  ): Promise<{ readonly live: readonly LiveFunction[]; readonly kept: readonly KeptFunction[] }>;
  /**
   * Replaces the code of a function by a forwarder, and moves its aliases to it.
   *
   * @param session Id of the session that the forwarder belongs to.
   * @returns Why it keeps its deployed code; `undefined` if it was replaced.
   */
  replace(fn: LiveFunction, session: string, forwarder: string): Promise<string | undefined>;
  /**
   * Gives a function its deployed code and its aliases back.
   *
   * @param session Restores it only if this session has replaced it. Default: any.
   * @returns False if its code was not replaced.
   */
  restore(name: string, session?: string): Promise<boolean>;
  /** Closes the connections, which would keep the process alive. */
  close(): void;
}

/**
 * Opens the functions of a stage.
 *
 * @throws {ConfigurationError} If a package is missing.
 */
export async function openLiveStage(region: { region?: string }): Promise<LiveStage> {
  const library = await openLambda(region);
  const { client } = library;

  /** Reads the code that calls without an alias run. */
  async function readCode(FunctionName: string): Promise<PresentCode> {
    const { Code, Configuration } = await client.send(
      new library.GetFunctionCommand({ FunctionName }),
    );
    const response = await fetch(Code!.Location!, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (!response.ok) {
      throw new Error(`the code of ${FunctionName} cannot be read: status ${response.status}`);
    }
    return {
      bytes: new Uint8Array(await response.arrayBuffer()),
      revision: Configuration?.RevisionId,
      hash: Configuration?.CodeSha256,
    };
  }

  /** Puts code, unless the function has changed since it was read. */
  async function writeCode(
    FunctionName: string,
    ZipFile: Uint8Array,
    RevisionId: string | undefined,
  ): Promise<void> {
    await client.send(new library.UpdateFunctionCodeCommand({ FunctionName, ZipFile, RevisionId }));
    const wait = { client, maxWaitTime: UPDATE_SECONDS, minDelay: 1, maxDelay: 2 };
    await library.waitUntilFunctionUpdatedV2(wait, { FunctionName });
  }

  async function listAliases(FunctionName: string): Promise<Readonly<Record<string, string>>> {
    const { Aliases = [] } = await client.send(new library.ListAliasesCommand({ FunctionName }));
    return Object.fromEntries(
      Aliases.map(({ Name, FunctionVersion }) => [Name!, FunctionVersion!]),
    );
  }

  async function moveAlias(
    FunctionName: string,
    Name: string,
    FunctionVersion: string,
  ): Promise<void> {
    await client.send(
      new library.UpdateAliasCommand({
        FunctionName,
        Name,
        FunctionVersion,
        RoutingConfig: { AdditionalVersionWeights: {} },
      }),
    );
  }

  async function findReason(name: string): Promise<KeptFunction | LiveFunction> {
    const keep = (reason: string) => ({ name, reason });
    try {
      const found = await client.send(
        new library.GetFunctionConfigurationCommand({ FunctionName: name }),
      );
      if (found.PackageType === "Image") return keep("is a container image");
      if ((found.VpcConfig?.SubnetIds ?? []).length > 0) {
        return keep("runs in a VPC, which this machine does not reach");
      }
      if (found.Handler !== "index.handler") return keep("was not built by trellis build");
      return { name, arn: found.FunctionArn!, role: found.Role! };
    } catch (error) {
      if ((error as Error).name === "ResourceNotFoundException") return keep("is not deployed");
      throw error;
    }
  }

  return {
    async sort(names) {
      const all = await Promise.all(names.map(findReason));
      const kept = all.filter((each): each is KeptFunction => "reason" in each);
      return { live: all.filter((each): each is LiveFunction => "arn" in each), kept };
    },

    async replace({ name }, session, forwarder): Promise<string | undefined> {
      const { bytes, revision, hash } = await readCode(name);
      const aliases = await listAliases(name);
      // the previous session was killed, or runs on another machine
      const before = await unwrapPackage(bytes);
      if (before === undefined) {
        for (const [alias, version] of Object.entries(aliases)) {
          const { CodeSha256 } = await client.send(
            new library.GetFunctionConfigurationCommand({ FunctionName: name, Qualifier: version }),
          );
          if (CodeSha256 !== hash) return `has another version at its alias ${alias}: deploy first`;
        }
      }
      const facts: LiveFacts = { aliases, ...before?.facts, session };
      const wrapped = await wrapPackage(before?.deployed ?? bytes, forwarder, facts);
      if (typeof wrapped === "string") return wrapped;
      if (wrapped.length > MAX_BYTES) return "has a package of more than 25 MB";
      await writeCode(name, wrapped, revision);
      try {
        for (const alias of Object.keys(facts.aliases)) await moveAlias(name, alias, "$LATEST");
      } catch (error) {
        // such as an alias with provisioned concurrency
        await restore(name);
        return `has an alias that cannot be moved: ${(error as Error).message}`;
      }
      return undefined;
    },

    restore,
    close: () => client.destroy(),
  };

  async function restore(name: string, session?: string): Promise<boolean> {
    const { bytes, revision } = await readCode(name);
    const before = await unwrapPackage(bytes);
    if (before === undefined || (session ?? before.facts.session) !== before.facts.session) {
      return false;
    }
    const present = await listAliases(name);
    for (const [alias, version] of Object.entries(before.facts.aliases)) {
      if (present[alias] === "$LATEST") await moveAlias(name, alias, version);
    }
    // the last change, because it removes what a restoration needs
    await writeCode(name, before.deployed, revision);
    return true;
  }
}

/**
 * Lists the queues of sessions of `trellis dev --stage`, whether they are running or were killed.
 *
 * @returns Their URLs.
 */
export async function listSessionQueues(
  { client, ListQueuesCommand }: Sqs,
  prefix: string,
): Promise<string[]> {
  const QueueNamePrefix = `${prefix}-trellis-live-`;
  const urls: string[] = [];
  let NextToken: string | undefined;
  do {
    const found = await client.send(
      new ListQueuesCommand({ QueueNamePrefix, MaxResults: 1000, NextToken }),
    );
    urls.push(...found.QueueUrls ?? []);
    NextToken = found.NextToken;
  } while (NextToken !== undefined);
  return urls.filter((url) => SESSION_QUEUE.test(url.split("/").at(-1)!.slice(prefix.length)));
}

/** Deletes queues, if they still exist. */
export async function deleteQueues(
  { client, DeleteQueueCommand }: Sqs,
  urls: readonly string[],
): Promise<void> {
  // their sessions end, or have ended already
  await Promise.allSettled(
    urls.map((QueueUrl) => client.send(new DeleteQueueCommand({ QueueUrl }))),
  );
}

/** The part of a deployment that {@link endSessions} uses. */
interface DeployedStage extends Pick<OpenStage, "stage" | "prefix" | "config"> {
  readonly context: { readonly root: string; readonly output: Pick<Output, "note" | "warn"> };
}

/**
 * Ends the sessions of a stage, of this machine and of others: gives all functions their deployed code back. A
 * failure is a warning, because a forwarder without a session calls the deployed code.
 */
export async function endSessions(
  { stage, prefix, config, context: { root, output } }: DeployedStage,
): Promise<void> {
  if (!isDisposableStage(stage.name)) return;
  const region = getStageRegion(stage);
  // a project without the client has had no session
  const sqs = await openSqs(region).catch(() => undefined);
  if (sqs === undefined) return;
  let functions: LiveStage | undefined;
  try {
    const queues = await listSessionQueues(sqs, prefix);
    if (queues.length === 0) return;
    const opened = functions = await openLiveStage(region);
    const files = findFunctionFiles(resolve(root, config.functionsDir), config);
    const { live } = await opened.sort(files.map(({ name }) => `${prefix}-${name}`));
    const restored = await Promise.all(live.map(({ name }) => opened.restore(name)));
    await deleteQueues(sqs, queues);
    output.note(
      `${count(restored.filter(Boolean).length, "function")} restored after trellis dev --stage`,
    );
  } catch (error) {
    const { name, message } = error as Error;
    output.warn(
      `Functions that trellis dev --stage has replaced were not restored: ${name}: ${message}`,
    );
  } finally {
    functions?.close();
    sqs.client.destroy();
  }
}
