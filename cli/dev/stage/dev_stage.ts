import { randomBytes } from "node:crypto";
import process from "node:process";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { findMigrationFunction } from "../../infra/migration_function.ts";
import type { InfraFunction } from "../../infra/infra_plan.ts";
import { type FilePlan, planFiles } from "../../infra/plan_files.ts";
import { createKeyPair, type LiveAddress, openQueue } from "../../live/channel.ts";
import { buildForwarder } from "../../live/live_package.ts";
import {
  deleteQueues,
  getQueueName,
  type KeptFunction,
  listSessionQueues,
  type LiveFunction,
  type LiveStage,
  openLiveStage,
  openSqs,
  type Sqs,
} from "../../live/live_stage.ts";
import { withTemporaryFolder } from "../../sources/temporary_folder.ts";
import { isDisposableStage } from "../../stages/stage_name.ts";
import { getStageRegion, resolveStage } from "../../stages/stage_settings.ts";
import { type CommandContext, ExitCode } from "../../terminal/command.ts";
import { count } from "../../terminal/generated_report.ts";
import type { Output } from "../../terminal/output.ts";
import { waitForStopSignal } from "../../terminal/stop_signals.ts";
import { createRecorder } from "../functions/recorder.ts";
import { createTerminal } from "../terminal.ts";
import { startLiveSession } from "./live_session.ts";

/** Seconds that a message is kept: longer than a call waits for it. */
const KEPT_SECONDS = 300;

/**
 * Runs the calls of a deployed stage's functions on this machine until it is stopped, then restores the
 * functions. If this process is killed, the forwarders call the deployed code, and the next session or
 * deployment restores them.
 *
 * @param stageName A stage whose data may be lost.
 * @returns Done if it was stopped; Failed if another process has taken the stage over.
 * @throws {ConfigurationError} If the stage may not run the code of a developer's machine, or if no function can.
 */
export async function runOnStage(context: CommandContext, stageName: string): Promise<ExitCode> {
  if (!isDisposableStage(stageName)) {
    throw new ConfigurationError(
      `The stage ${stageName} keeps its deployed code: only dev and preview… run the code of a developer's ` +
        "machine. Nothing was changed",
    );
  }
  const { root, output, options } = context;
  const plan = await planFiles({ root, options, output });
  const region = getStageRegion(resolveStage(plan.config.infra, plan.projectName, stageName));
  const prefix = `${plan.projectName}-${stageName}`;
  const stage = await openLiveStage(region);
  const sqs = await openSqs(region);
  const signals = waitForStopSignal();
  try {
    const { stopped } = signals;
    return await withTemporaryFolder(
      root,
      "stage",
      (folder) => runSession({ context, plan, prefix, stage, sqs, folder, stopped }),
    );
  } finally {
    stage.close();
    sqs.client.destroy();
    signals.restore();
  }
}

interface SessionContext {
  readonly context: CommandContext;
  readonly plan: FilePlan;
  /** Prefix of the stage's resources: `notes-dev`. */
  readonly prefix: string;
  readonly stage: LiveStage;
  readonly sqs: Sqs;
  /** Absolute path of a folder for bundles. */
  readonly folder: string;
  /** Settles when a signal stops the command. */
  readonly stopped: Promise<unknown>;
}

async function runSession(
  { context: { root, output, options }, plan, prefix, stage, sqs, folder, stopped }: SessionContext,
): Promise<ExitCode> {
  const migration = findMigrationFunction(plan.sources.functions);
  const local = plan.sources.functions.filter((fn) => fn !== migration);
  const streamed = local.filter(isStreamed);
  const candidates = local.filter((fn) => !streamed.includes(fn));
  const sorted = await stage.sort(candidates.map(({ name }) => `${prefix}-${name}`));
  const kept: KeptFunction[] = [
    ...streamed.map(({ name }) => ({ name, reason: "sends its response in parts" })),
    ...sorted.kept,
  ];
  if (sorted.live.length === 0) throw refuse(prefix, kept);
  const functions = new Map(
    sorted.live.map(({ name }) => [
      name,
      candidates.find((fn) => name === `${prefix}-${fn.name}`)!,
    ]),
  );
  const session = randomBytes(2).toString("hex");
  const keys = createKeyPair();
  const token = randomBytes(32).toString("base64");
  const queues = createQueues(sqs, getQueueName(prefix, session), sorted.live);
  const others = await listSessionQueues(sqs, prefix);
  const address: LiveAddress = {
    queueUrl: await queues.createOffers(`role/${prefix}-*`),
    publicKey: keys.publicKey,
    token,
  };
  const recorder = createRecorder();
  const terminal = createTerminal(output, root);
  recorder.listen((event) => terminal.show(event));
  const running = startLiveSession({
    root,
    folder,
    functions,
    keys,
    token,
    offers: openQueue(sqs, sqs.client, address.queueUrl),
    openAnswers: async (instance, name) =>
      openQueue(sqs, sqs.client, await queues.createAnswers(instance, name)),
    recorder,
    terminal,
    onLogText: options.logs ? (text) => void process.stderr.write(text) : undefined,
  });
  let isTakenOver = false;
  let isRestored = true;
  const replaced: LiveFunction[] = [];
  try {
    // their sessions end, and leave the functions to this one
    await deleteQueues(sqs, others);
    const forwarder = await buildForwarder(address);
    await terminal.step(
      `Replacing the code of ${count(sorted.live.length, "function")}`,
      () =>
        settleAll(sorted.live.map(async (fn) => {
          const reason = await stage.replace(fn, session, forwarder);
          if (reason === undefined) replaced.push(fn);
          else kept.push({ name: fn.name, reason });
        })),
    );
    if (replaced.length === 0) throw refuse(prefix, kept);
    showStart(output, prefix, replaced.length, kept);
    output.result({
      command: "dev",
      stage: prefix,
      functions: replaced.map(({ name }) => name).sort(),
      kept,
    });
    isTakenOver = await Promise.race([
      stopped.then(() => false),
      running.ended.then(() => true),
    ]);
  } finally {
    running.stop();
    recorder.stop();
    if (!isTakenOver) {
      output.note(`\nRestoring ${count(sorted.live.length, "function")} …`);
      await settleAll(sorted.live.map(({ name }) => stage.restore(name, session)))
        .catch(({ name, message }: Error) => {
          isRestored = false;
          output.warn(
            `Not all functions were restored: ${name}: ${message}. Their deployed code answers, and the next ` +
              `trellis dev --stage or trellis deploy restores them`,
          );
        });
      // a deployment looks for queues
      if (isRestored) await deleteQueues(sqs, await queues.list());
    }
  }
  if (!isTakenOver) return isRestored ? ExitCode.Done : ExitCode.Failed;
  output.warn(
    `A deployment or another session has taken ${prefix} over: nothing runs here any more`,
  );
  return ExitCode.Failed;
}

/** Checks whether a function, or a route of it, sends its response in parts. */
function isStreamed({ options, routes = [] }: InfraFunction): boolean {
  return options.streaming === true || routes.some(isStreamed);
}

/** Waits for all, also if one fails, and then throws the first error. */
async function settleAll(all: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(all);
  await Promise.all(all);
}

function showStart(
  output: Output,
  prefix: string,
  replaced: number,
  kept: readonly KeptFunction[],
): void {
  output.line();
  output.line(`${output.bold(prefix)} is answered by this machine: ${count(replaced, "function")}`);
  if (kept.length > 0) output.line(`Deployed code still answers for:${listKept(kept)}`);
  output.line("Press Ctrl-C to stop and to restore the functions.");
  output.line();
}

function refuse(prefix: string, kept: readonly KeptFunction[]): ConfigurationError {
  return new ConfigurationError(
    `No function of ${prefix} can run here:${listKept(kept)}\nAll have their deployed code`,
  );
}

function listKept(kept: readonly KeptFunction[]): string {
  return kept.map(({ name, reason }) => `\n  ${name}: ${reason}`).join("");
}

/** The queues of a session, which Amazon SQS encrypts at rest. */
interface SessionQueues {
  /** Creates the queue of offers, to which roles may send. Returns its URL. */
  createOffers(roles: string): Promise<string>;
  /** Creates the queue with the answers to an instance, which the role of its function may read. */
  createAnswers(instance: string, functionName: string): Promise<string>;
  /** Lists the URLs of the created queues. */
  list(): Promise<string[]>;
}

function createQueues(
  { client, CreateQueueCommand }: Sqs,
  name: string,
  functions: readonly LiveFunction[],
): SessionQueues {
  const urls: Promise<string>[] = [];
  const [, partition, , region, account] = functions[0].arn.split(":");

  function create(QueueName: string, Action: string, roleArn: string): Promise<string> {
    const Resource = `arn:${partition}:sqs:${region}:${account}:${QueueName}`;
    const statements = [
      {
        Effect: "Allow",
        Principal: { AWS: "*" },
        Action,
        Resource,
        Condition: { ArnLike: { "aws:PrincipalArn": roleArn } },
      },
      {
        Effect: "Deny",
        Principal: "*",
        Action: "sqs:*",
        Resource,
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      },
    ];
    const created = client.send(
      new CreateQueueCommand({
        QueueName,
        Attributes: {
          MessageRetentionPeriod: String(KEPT_SECONDS),
          // messages are read once and not deleted
          VisibilityTimeout: String(2 * KEPT_SECONDS),
          Policy: JSON.stringify({ Version: "2012-10-17", Statement: statements }),
        },
      }),
    ).then(({ QueueUrl }) => QueueUrl!);
    urls.push(created);
    return created;
  }

  return {
    createOffers: (roles) =>
      create(name, "sqs:SendMessage", `arn:${partition}:iam::${account}:${roles}`),
    createAnswers(instance, functionName) {
      const { role } = functions.find((fn) => fn.name === functionName)!;
      return create(`${name}-${instance}`, "sqs:ReceiveMessage", role);
    },
    async list() {
      const settled = await Promise.allSettled(urls);
      return settled.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
    },
  };
}
